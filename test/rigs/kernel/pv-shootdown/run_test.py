# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""TLB flushes that wake nobody: what they save, and whether none is lost.

L2 flushes with no-kvm-halted and without, in turn, the same kernel and in a fresh pair of
guests each time. L1 counts the exits, L2 the interrupts that others than the flushing vCPU get.
"""

import itertools
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass

import bench
from guest import Broken
from kernel import qemu, source
from kernel.rig import Workload

from locks import check_locks
from page import check_page

SENTENCE = "Exits and wake-ups for TLB flushes, while other vCPUs are halted."
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.config")
WORKLOADS = {
    "nothing-asleep": Workload((4, 8), "No flush, only the wake-ups that go before one."),
    "tables-asleep": Workload((4, 8), "munmap frees page tables, with a thread asleep on each other vCPU."),
    "tables-busy": Workload((1, 2, 4, 8), "The same, and the other threads compute."),
    "madvise-asleep": Workload((4,), "MADV_DONTNEED, with the others asleep."),
    "madvise-busy": Workload((1, 2, 4, 8), "The same, and they compute."),
    "mprotect-asleep": Workload((4,), "mprotect, with the others asleep."),
    "mprotect-busy": Workload((1, 2, 4, 8), "The same, and they compute."),
}
# Interrupts for a flush while the other vCPU is halted: none if the host has reported that.
QEMU = qemu.Guest(
    "kvm-steal-halted", "export NO_MARKS=1\nwhile /flush tables-asleep 2 20; do :; done\n",
    has=lambda each: max(each) < 0.5,
    goes_on=lambda before, after: True,
    refusal="The guest has asked for reports of halted vCPUs")
# Variant -> what L2's command line has.
WORDS = {"off": "no-kvm-halted", "on": ""}
OPS = 200
# A guest that is slower than that is stuck.
LIMIT_S = 120
ALL, INTERRUPTS, IN_FLUSH = "all", "interrupts", "us in flush"
SHOWN = ("HLT", "ICR", "VMMCALL", "INTR", "NPF", ALL, INTERRUPTS, IN_FLUSH)


def count(run, kind):
    """For the whole run."""
    exits = run["exits"]
    if kind == ALL:
        return sum(exits["exit"].values())
    if kind == INTERRUPTS:
        return run["interrupts"]
    if kind == IN_FLUSH:
        return run["in_flush_s"] * 1e6
    return exits["msr" if kind == "ICR" else "exit"].get(kind, 0)


def summary(runs):
    """runs: variant -> list of runs of a cell. kind -> medians for an operation, and their ratio."""
    found = {}
    for kind in SHOWN:
        off, on = (statistics.median(count(run, kind) / run["ops"] for run in runs[v]) for v in WORDS)
        found[kind] = {"off": off, "on": on, "ratio": on / off if off else None}
    return found


def text(value):
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def rows(cell, found):
    for which in (*WORDS, "ratio"):
        head = cell if which == "off" else ("", "")
        yield [*head, which, *(text(found[kind][which]) for kind in SHOWN), ""]


def costs(rig, options, report):
    """Prints the table; whether all was measured."""
    failures = report.content["failures"]
    cells = {(name, vcpus): {v: [] for v in WORDS}
             for name in options.chosen for vcpus in WORKLOADS[name].vcpus}
    for rep, ((name, vcpus), runs), variant in itertools.product(range(options.reps), cells.items(), WORDS):
        title = f"{name}, {vcpus} vCPUs, {variant}, {rep + 1} of {options.reps}"
        try:
            run = rig.run(title, vcpus, f"sleep 1\ntimeout -s KILL {LIMIT_S} /flush {name} {vcpus} {OPS}\n",
                          1, LIMIT_S, words=WORDS[variant]).results[0]
            if "exits" not in run:
                raise Broken(f"{title}: the guest set no marks")
            runs[variant].append(run)
        except Broken as error:
            failures.append(str(error))
    rig.progress.end()
    lines = []
    for (name, vcpus), runs in cells.items():
        if not all(runs.values()):
            continue
        found = summary(runs)
        for variant, each in runs.items():
            report.content["samples"].append(
                {"workload": name, "vcpus": vcpus, "variant": variant, "runs": each})
        report.summary(workload=name, vcpus=vcpus, per=found)
        lines += rows((name, vcpus), found)
    print(f"for each flush, medians of {options.reps} runs of {OPS}; an emulated L1 of {options.host_cpus} CPUs")
    bench.table(["", "vCPUs", "", *SHOWN, ""], lines)
    for failure in failures:
        print(f"FAILED: {failure}")
    return not failures


REMAP_S = 10


def check_remap(rig, options):
    """All vCPUs remap memory for --seconds, pause at random, and find what they have written."""
    seconds = options.seconds or REMAP_S
    for vcpus, (variant, words) in itertools.product((2, 4), WORDS.items()):
        found = rig.run(f"remap, {vcpus} vCPUs, {variant}", vcpus, f"sleep 1\n/remap {vcpus} {seconds}\n", 1,
                        seconds, words=words).results[0]
        yield (found["remaps"] > 0 and not found["wrong"], f"{vcpus} vCPUs, {variant}: {found['remaps']} remaps, "
               f"{found['wrong']} words of {found['remaps'] * 8} are old", found)


def check_hotplug(rig, options):
    """vCPUs go and come while all of them remap memory."""
    script = (f"sleep 1\n/remap 3 {REMAP_S} &\nfor i in $(seq 10); do\n"
              "echo 0 >/sys/devices/system/cpu/cpu3/online; sleep 0.2\n"
              "echo 1 >/sys/devices/system/cpu/cpu3/online; sleep 0.2\ndone\nwait\n")
    found = rig.run("hotplug", 4, script, 1, REMAP_S).results[0]
    yield (found["remaps"] > 0 and not found["wrong"],
           f"{found['remaps']} remaps, {found['wrong']} words are old", found)


def check_unpatched(rig, options):
    """A guest that is not offered reports of halted vCPUs, and one that knows of none, go on."""
    for title, who in (("a host without it", "host"), ("a guest without it", "guest")):
        found = rig.like(bare=who).run(f"{title}", 2, "sleep 1\n/remap 2 3\n", 1, 3).results[0]
        yield (found["remaps"] > 0 and not found["wrong"],
               f"{title}: {found['remaps']} remaps, {found['wrong']} words are old", found)


READER = os.path.join("tools", "testing", "selftests", "x86", "vcpu_state.c")


def check_device(rig, options):
    """The series' own test of /dev/vcpu_state, in a guest."""
    tree = os.path.join(options.build, "kernel", options.version, f"{source.PATCHED}-{rig.name}")
    program, headers = (os.path.join(rig.out, name) for name in ("vcpu_state", "include"))
    os.makedirs(os.path.join(headers, "asm"), exist_ok=True)
    for name in ("kvm_para.h", "vcpu_state.h"):  # the others are this machine's
        shutil.copy(os.path.join(tree, "arch", "x86", "include", "uapi", "asm", name), os.path.join(headers, "asm"))
    done = subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-static", "-I", headers, "-o", program,
                           os.path.join(tree, READER)], capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"{READER} does not compile: {done.stderr.strip()}")
    ran = rig.run("device", 2, "/vcpu_state; echo '{\"status\": '$?'}'\n", 1,
                  files={"vcpu_state": program})
    # Of the kernel test's own lines.
    said = [line for line in ran.lines if line.startswith(("ok ", "not ok ", "# CPU", "1.."))]
    yield ran.results[0]["status"] == 0, "; ".join(said), ran.results[0]


OWED = "check-owed.patch"
COMPLAINT = "check_flush_owed"


def check_owed(rig, options):
    """As remap for --seconds, and L1's KVM complains if a guest runs with a flush owed."""
    if os.path.basename(options.also or "") != OWED:
        raise Broken(f"it is for a host with --also test/rigs/kernel/pv-shootdown/Inputs/{OWED}")
    for host_words, wanted, seconds in (("kvm.lose_flush=1", True, REMAP_S),
                                        ("", False, options.seconds or REMAP_S)):
        before = len(rig.complained)
        found = rig.run(f"owed {host_words}".strip(), 4, f"sleep 1\n/remap 4 {seconds}\n", 1, seconds,
                        host_words=host_words).results[0]
        seen = [line for line in rig.complained[before:] if COMPLAINT in line]
        if wanted:  # these are no fault
            del rig.complained[before:]
        yield (bool(seen) == wanted and found["remaps"] > 0 and not found["wrong"],
               f"{host_words or 'flushes done'}: {found['remaps']} remaps, {found['wrong']} words are old, "
               f"{'a' if seen else 'no'} complaint of a flush owed", found)


@dataclass(frozen=True)
class Check:
    run: object
    by_name: bool = False  # it needs a patch more

    def __str__(self):
        return self.run.__doc__ + (" Only by its name." if self.by_name else "")


CHECKS = {"remap": Check(check_remap), "hotplug": Check(check_hotplug), "device": Check(check_device),
          "unpatched": Check(check_unpatched), "page": Check(check_page), "locks": Check(check_locks),
          "owed": Check(check_owed, True)}


def correctness(rig, options, report):
    """Prints what was found; whether all of it was as it should."""
    good = True
    for name in options.chosen:
        try:
            for well, what, values in CHECKS[name].run(rig, options):
                rig.progress.end()
                print(f"{'ok' if well else 'FAILED'}: {name}: {what}", flush=True)
                report.content["samples"].append({"check": name, "good": well, "text": what, "values": values})
                good &= well
        except Broken as error:
            rig.progress.end()
            print(f"FAILED: {name}: {error}", flush=True)
            good = False
    return good


def main(rig, options, report):
    report.content["failures"] = []
    good = (correctness if options.checks else costs)(rig, options, report)
    report.content.update(rig.record())
    for line in rig.complained:
        print(f"FAILED: {line}")
    if rig.broke:
        print(f"guests that broke off: {len(rig.broke)} of {len(rig.boots)}")
    report.write()
    return 0 if good and not rig.complained else 1
