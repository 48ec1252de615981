# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps in a guest of a guest: exits to the hypervisor, by reason, of one whole run.

Counts only: nobody's time is that of an emulator. Ticks come with time, though, so INTR and
TSC_DEADLINE have a share of them that is larger where a step takes longer.
"""

import os
import statistics
import sys

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", ".."))
from guest import Broken, emulator, machine, nested, packages, until_whole  # noqa: E402

# With fewer CPUs than the inner guest has, its vCPUs preempt each other.
L1_CPUS = 2
# A step takes seconds of emulation; that it prints nothing for so long means that it hangs.
SILENCE_S = 600
SHOWN = ("HLT", "TSC_DEADLINE", "ICR", "INTR", "NPF")
HEADER = ["", *SHOWN, "all", "waits", ""]


def script(commands, threads, packed, same):
    """Runs each step once. Archives of the steps in same must be equal; what was compared is deleted, as a guest's files
    are in its memory."""
    lines, first = [], packed[same[0]] if same else None
    for step, command in commands.items():
        lines.append(f"./count {step} {threads} {' '.join(command)} || exit 1")
        if step in same and packed[step] != first:
            lines.append(f"cmp {first} {packed[step]} || exit 1")
        if packed[step] != first:
            lines.append(f"rm {packed[step]}")
    return "\n".join(lines) + "\n"


class Rig:
    def __init__(self, tree, out, programs, given, progress, smoke, host_cpus=L1_CPUS):
        cache = os.path.join(tree.build, "guest")
        # The mended one takes minutes to build, once.
        self.qemu = packages.qemu() if smoke else emulator.qemu(tree.build)
        self.kernel, self.busybox = packages.kernel(cache), packages.busybox(cache)
        self.out, self.progress, self.host_cpus = out, progress, host_cpus
        self.vmm = nested.build_vmm(tree.tool("clang"), out)
        count = nested.compile_program(os.path.join(HERE, "count.c"), os.path.join(out, "count"), tree.tool("clang"))
        self.broke = []  # what guests broke off with, in a line each
        self.files = {"count": count, "input": given, **programs}

    def once(self, cpus, text, expected, title):
        initrd = nested.write(self.out, self.kernel, self.busybox, self.vmm, cpus, self.files, text)

        def attempt():
            counter = nested.Counter()

            def seen(line):
                counter.line(line)
                self.progress.at(f"{title}: step {len(counter.results)} of {expected}")

            lines = machine.boot(self.qemu, self.kernel.image, initrd, self.host_cpus, nested.L1_MEGABYTES, name=nested.L1, seen=seen,
                                 silence=SILENCE_S, virtual=self.host_cpus == 1)
            nested.check(lines)
            if len(counter.results) != expected:
                raise Broken(f"the guest did {len(counter.results)} steps of {expected}")
            return counter.runs()

        def heard(error, again):
            self.broke.append(f"{title}: {error}")
            if again:
                print(f"bench dedup: once more, as {error}", file=sys.stderr, flush=True)

        return until_whole(attempt, heard)


def summary(runs):
    row = {kind: statistics.median(r.exits(kind) for r in runs) for kind in (*SHOWN, "all")}
    return {**row, "voluntary": statistics.median(r.values["voluntary"] for r in runs)}


def measure_all(rig, report, commands, packed, same, cpus, threads, repetitions):
    """Runs all steps, in a new guest for each repetition; returns step -> summary."""
    runs = {step: [] for step in commands}
    for repetition in range(repetitions):
        title = f"guest of {cpus} vCPUs, {threads} threads, run {repetition + 1} of {repetitions}"
        for result in rig.once(cpus, script(commands, threads, packed, same), len(commands), title):
            runs[result.values["step"]].append(result)
    report.content["broke"] = rig.broke
    report.samples(runs, guest_cpus=cpus, threads=threads)
    found = {step: summary(each) for step, each in runs.items()}
    for step, row in found.items():
        report.summary(step=step, guest_cpus=cpus, threads=threads, **row)
    return found


def table(found, sentences):
    bench.table(HEADER, [[step, *(f"{row[kind]:.0f}" for kind in (*SHOWN, "all", "voluntary")), sentences[step]]
                         for step, row in found.items()])
