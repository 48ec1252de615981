# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduler ticks by the hypervisor: what they save, and whether they are right.

L2 does some work, with paratick=off and without, in turn, the same kernel and in a fresh
pair of guests each time; L1 counts the exits.
"""

import itertools
import os

import bench
import checks
import table
from guest import Broken
from kernel import qemu
from kernel.rig import Workload

SENTENCE = "Exits of a guest that takes its ticks from the hypervisor."
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.config")

# L1 has 2 CPUs.
WORKLOADS = {
    "busy": Workload((1, 2), "All vCPUs compute."),
    "crowded": Workload((4,), "The same with more vCPUs than CPUs."),
    "pingpong": Workload((2, 4), "Pairs of threads on two vCPUs wake each other by futex."),
    "sleeper": Workload((1, 2, 4), "Each vCPU sleeps for 2 ms at a time."),
    "io": Workload((2, 4), "A thread waits for requests that take 100 us."),
    "idle": Workload((1, 2, 4), "Nothing."),
    "mixed": Workload((2, 4), "Busy, pingpong and sleeper together."),
}
CHECKS = checks.CHECKS
# Ticks are those of vCPUs that compute.
QEMU = qemu.Guest(
    "kvm-paratick", """
for cpu in 0 1; do (while :; do :; done) & done
while sleep 0.5; do awk '/PTK:/ { n = $2 + $3 } END { print n + 0 }' /proc/interrupts; done
""",
    has=lambda ticks: ticks[-1] > ticks[0],
    goes_on=lambda before, after: after[0] > before[-1],
    refusal="The guest has asked for scheduler ticks")
SECONDS = 3

# A guest goes on booting for a while after init has begun.
SCRIPT = """
sleep 1
timeout -s KILL {limit} /workload {name} {vcpus} {seconds} || {{ echo "status $?"; exit 1; }}
"""
# A run is as long as it is told to be, and a guest that is slower than that is stuck.
LIMIT_S = 60
# What others may take of this machine; some work of the system's own is always there.
BUSY = 0.1


def script(name, vcpus, seconds):
    return SCRIPT.format(name=name, vcpus=vcpus, seconds=seconds, limit=int(seconds + LIMIT_S))


def verify(rig, title, variant, run):
    """What was to be compared was there, and was counted."""
    if "exits" not in run:
        raise Broken(f"{title}: the guest set no marks")
    if variant != "on" and run["ptk"]:
        raise Broken(f"{title}: the hypervisor delivered {run['ptk']} ticks")
    if variant == "on" and rig.patched and not run["ptk"] and run["workload"] not in ("idle", "sleeper"):
        raise Broken(f"{title}: the hypervisor delivered no tick")


def measure(rig, options, failures):
    """Runs: (workload, vcpus) -> variant -> runs. Each is of a pair of guests of its own: what
    breaks off takes no other with it."""
    seconds = options.seconds or SECONDS
    words = {**table.WORDS, **({table.PERIODIC: table.PERIODIC_WORDS} if options.periodic else {})}
    cells = {(name, vcpus): {v: [] for v in words}
             for name in options.chosen for vcpus in WORKLOADS[name].vcpus}
    for rep, ((name, vcpus), runs), variant in itertools.product(
            range(options.reps), cells.items(), words):
        title = f"{name}, {table.vcpus(vcpus)}, {variant}, {rep + 1} of {options.reps}"
        try:
            run = rig.run(title, vcpus, script(name, vcpus, seconds), 1, seconds,
                          words=words[variant]).results[0]
            verify(rig, title, variant, run)
        except Broken as error:
            failures.append(str(error))
            continue
        # A timer was lost: that has few exits, which are none to compare.
        if run["seconds"] > seconds + checks.LATE_S:
            failures.append(f"{title}: {seconds:g} s took {run['seconds']:.3f} s")
            continue
        runs[variant].append(run)
    return cells


def costs(rig, options, report):
    """Prints the table and the verdicts; whether all was measured."""
    failures = report.content["failures"]
    cells = measure(rig, options, failures)
    rig.progress.end()
    found = {cell: table.summary(runs) for cell, runs in cells.items() if all(runs.values())}
    of_ticks = {}
    for (workload, vcpus), each in found.items():
        for variant, runs in cells[workload, vcpus].items():
            report.content["samples"].append(
                {"workload": workload, "vcpus": vcpus, "variant": variant, "runs": runs})
        of_ticks[workload, vcpus] = table.ticks(cells[workload, vcpus], options.hz)
        report.summary(workload=workload, vcpus=vcpus, per=each, ticks=vars(of_ticks[workload, vcpus]))
    print(f"exits of L2 in an emulated L1 of {table.cpus(options.host_cpus)}, medians of {options.reps} runs of "
          f"{options.seconds or SECONDS:g} s")
    bench.table(table.HEADER, [row for cell, each in found.items() for row in table.rows(cell, each)])
    print("\nexits a second for ticks, by formula and counted")
    bench.table(table.TICKS_HEADER, [table.ticks_row(*each) for each in of_ticks.items()])
    verdicts = table.judge(found)
    report.content["aims"] = verdicts
    print()
    for verdict in verdicts:
        if verdict["workload"] in options.chosen:
            print(table.verdict_line(verdict))
    for failure in failures:
        print(f"FAILED: {failure}")
    warn(run.get("others", 0) for runs in cells.values() for each in runs.values() for run in each)
    return not failures


def warn(others):
    """If what was measured is of a machine that had other work."""
    busiest = max(others, default=0)
    if busiest > BUSY:
        print(f"others took {busiest:.0%} of this machine's CPUs meanwhile: a guest that has to wait "
              "gets less ticks than it asks for")


def correctness(rig, options, report):
    """Prints what was found; whether all of it was as it should."""
    good = True
    for name in options.chosen:
        try:
            findings = CHECKS[name].run(rig, options)
        except Broken as error:
            findings = [checks.Finding(False, str(error))]
        rig.progress.end()
        for finding in findings:
            print(f"{'ok' if finding.good else 'FAILED'}: {name}: {finding.text}", flush=True)
            good &= finding.good
            report.content["samples"].append({"check": name, "good": finding.good, "text": finding.text,
                                              "values": finding.values})
    warn(each["values"].get("others", 0) for each in report.content["samples"])
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
