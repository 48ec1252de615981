# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The locks of blocking-sync in guests, where a vCPU may be away for a while.

First in an emulated machine with more vCPUs than this one has CPUs: completed
operations of each lock, against the best of the others as in blocking-sync. Then in a
guest of such a machine, which has KVM: its exits by reason, for each operation. An
emulator's time is not that of any real machine: ratios within a guest mean something,
microseconds do not, and counts mean most.
"""

import os
import sys
from dataclasses import replace

import bench
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "blocking-sync"))
# Last: that folder has more than what is wanted of it.
sys.path.append(os.path.join(HERE, "..", ".."))

import exits  # noqa: E402
import peers  # noqa: E402
import workload  # noqa: E402
from guest import Broken, initramfs, machine, nested, packages, until_whole  # noqa: E402

SENTENCE = "The locks of blocking-sync in an emulated guest, and in a guest's guest its exits."
ALONE = False
NAME = "blocking-sync-guest"

PARTS = ("emulated", "nested")
# The initramfs takes 18, and as much again while it is unpacked, the kernel some 60.
MEGABYTES = 512
# With fewer CPUs than the inner guest has, its vCPUs preempt each other.
L1_CPUS = 2


def options(parser):
    parser.add_argument("--only", choices=PARTS, help="one part [both]")
    parser.add_argument("--cpus", type=peers.numbers, default=[4, 8], metavar="N,...",
                        help="vCPUs of the emulated guests")
    parser.add_argument("--threads", type=peers.numbers, default=[1, 2, 4, 8, 16], metavar="N,...")
    parser.add_argument("--sections", type=peers.numbers, default=[0, 1000, 10000], metavar="NS,...")
    parser.add_argument("--think", type=peers.numbers, default=[1000], metavar="NS,...")
    parser.add_argument("--hogs", type=peers.numbers, default=[0, 1], metavar="N,...")
    parser.add_argument("--ms", type=int, default=60, help="length of a run [%(default)s]")
    parser.add_argument("--reps", type=int, default=6, metavar="N", help="runs a cell and lock [%(default)s]")
    parser.add_argument("--nested-cpus", type=peers.numbers, default=[2, 4], metavar="N,...",
                        help="vCPUs of the guests in the guest")
    parser.add_argument("--nested-threads", type=peers.numbers, default=[2, 4, 8], metavar="N,...")
    parser.add_argument("--nested-sections", type=peers.numbers, default=[1000, 10000], metavar="NS,...")
    parser.add_argument("--nested-ms", type=int, default=300, metavar="MS",
                        help="length of a run there [%(default)s]")
    parser.add_argument("--nested-reps", type=int, default=4, metavar="N")
    parser.add_argument("--peers", default=",".join(peers.PEERS), metavar="NAME,...")


def check(options):
    lists = {"cpus": 1, "threads": 1, "nested_cpus": 1, "nested_threads": 1,
             "sections": 0, "nested_sections": 0, "think": 0, "hogs": 0}
    for name, least in lists.items():
        if min(getattr(options, name)) < least:
            raise bench.Usage(f"--{name.replace('_', '-')} has a number below {least}")
    for name in ("ms", "nested_ms"):
        if not 1 <= getattr(options, name) <= 999:  # a run's length is in nanoseconds
            raise bench.Usage(f"--{name.replace('_', '-')} is 1 to 999")
    for name in ("reps", "nested_reps"):
        if getattr(options, name) < 2:
            raise bench.Usage(f"--{name.replace('_', '-')}: odd runs choose, even ones judge: "
                              "2 at least")


def smoke(options):
    options.reps, options.ms = 2, 50  # an emulated thread needs 5 to begin
    options.cpus, options.threads, options.sections = [4], [1, 4], [0]
    options.think, options.hogs = [0], [0]
    options.only = options.only or "emulated"
    options.nested_cpus, options.nested_threads, options.nested_sections = [2], [4], [1000]
    options.nested_ms, options.nested_reps = 100, 2


class Rig:
    """What the guests of both parts are made of."""

    def __init__(self, tree, options, out, names):
        cache = os.path.join(tree.build, "guest")
        self.qemu = packages.qemu()
        self.kernel = packages.kernel(cache)
        self.busybox = packages.busybox(cache)
        bench.install(sorted({peers.PEERS[p][0] for p in names} - {None}))
        self.out = os.path.join(out, NAME)
        inputs = os.path.join(os.path.dirname(os.path.abspath(nested.__file__)), "Inputs")
        programs = peers.compile_locks(
            tree, [peers.OURS, *names], self.out, static=True,
            defines=["-I", inputs, '-DMARK="mark.h"'],
        )
        self.files = dict(programs.items())
        self.vmm = nested.build_vmm(tree.tool("clang"), self.out)
        self.progress = measure.Progress(NAME)
        self.broke = []  # what guests broke off with, in a line each

    def emulated(self, work, cpus, steps, at):
        """What an emulated guest printed that runs work."""
        initrd = initramfs.write(os.path.join(self.out, "guest.cpio"), self.busybox,
                                 self.files, work.script(steps))
        found = []

        def seen(line):
            found.append(workload.parsed(line))
            at(found)

        machine.boot(self.qemu, self.kernel.image, initrd, cpus, MEGABYTES, seen=seen)
        return found

    def nested(self, work, cpus, steps, at):
        """The same of a guest in an emulated one; results have exits."""
        initrd = nested.write(self.out, self.kernel, self.busybox, self.vmm, cpus, self.files,
                              work.script(steps))
        counter = nested.Counter()

        def seen(line):
            counter.line(line)
            at(counter.results)

        lines = machine.boot(self.qemu, self.kernel.image, initrd, L1_CPUS, nested.L1_MEGABYTES,
                             name=nested.L1, seen=seen)
        nested.check(lines)
        return counter.results

    def whole(self, part, work, cpus, steps, title):
        """One repetition, begun anew if the guest breaks."""
        def at(found):
            done = sum(map(workload.is_result, found))
            self.progress.at(f"{part} guest, {cpus} vCPUs, {title}: run {done} of {work.runs()}")

        def attempt():
            found = getattr(self, part)(work, cpus, steps, at)
            done = sum(map(workload.is_result, found))
            if done != work.runs():
                raise Broken(f"the guest did {done} runs of {work.runs()}")
            return found

        def heard(error, again):
            self.broke.append(f"{part}, {cpus} vCPUs, {title}: {error}")
            if again:
                print(f"bench {NAME}: once more, as {error}", file=sys.stderr, flush=True)

        return until_whole(attempt, heard)

    def repeat(self, part, work, cpus, reps):
        """cell -> lock -> results of reps repetitions, each in a guest of its own, and the
        steps of work in a nanosecond, as the first guest has measured."""
        cells = {cell: {lock: [] for lock in work.locks} for cell in work.cells()}
        steps = None
        for rep in range(reps):
            found = self.whole(part, work, cpus, steps, f"repetition {rep + 1} of {reps}")
            steps = next(v["steps_per_ns"] for v in found if "steps_per_ns" in v)
            for (cell, lock), result in work.sort(filter(workload.is_result, found)):
                cells[cell][lock].append(result)
        for cell, runs in cells.items():
            for half in (runs[peers.OURS][0::2], runs[peers.OURS][1::2]):
                if not peers.median(half, "ops"):
                    raise Broken(f"{peers.OURS} did nothing in {work.ms} ms of {workload.named(cell)}: "
                                 "this machine is too busy, or a run too short")
        return cells, steps


def emulated_part(rig, report, options, work):
    rows, verdicts = [], []
    for cpus in options.cpus:
        cells, steps = rig.repeat("emulated", work, cpus, options.reps)
        report.content["steps_per_ns"][str(cpus)] = steps
        for cell, runs in cells.items():
            where = {"part": "emulated", "cpus": cpus, **workload.named(cell)}
            report.samples(runs, **where)
            verdict = peers.judge(runs, work.locks[1:])
            report.summary(**where, **verdict)
            verdicts.append(verdict)
            rows.append([
                workload.title(cpus, cell),
                f"{peers.median(runs[peers.OURS], 'ops'):.0f}",
                f"{verdict['throughput']:.2f}", verdict["fastest"],
                f"{verdict['cpu']:.2f}", verdict["thriftiest"],
                f"{verdict['jain']:.2f}", f"{verdict['best_jain']:.2f}", "",
            ])
    rig.progress.end()
    print(f"{options.reps} runs of {work.ms} ms a lock and cell, emulated on {bench.cpus()} CPUs; "
          "operations and CPU per operation over those of the best peer of the cell")
    bench.table(["", "operations", "ratio", "to", "CPU/op", "to", "Jain", "its", ""], rows)
    if not options.smoke:
        fast = [v["throughput"] for v in verdicts]
        cpu = [v["cpu"] for v in verdicts]
        print(f"operations: geometric mean {peers.geometric(fast):.3f}, worst cell {min(fast):.2f}; "
              f"CPU per operation: geometric mean {peers.geometric(cpu):.3f}, worst {max(cpu):.2f}")


def nested_part(rig, report, options, work):
    rows, of = [], {lock: [] for lock in work.locks}
    for cpus in options.nested_cpus:
        cells, _ = rig.repeat("nested", work, cpus, options.nested_reps)
        for cell, runs in cells.items():
            where = {"part": "nested", "cpus": cpus, **workload.named(cell)}
            report.samples(runs, **where)
            verdict = exits.judge(runs, work.locks[1:])
            report.summary(**where, **verdict)
            rows.append(exits.row(workload.title(cpus, cell), verdict))
            for lock, each in runs.items():
                of[lock].append(exits.summary(each))
    rig.progress.end()
    print(f"\n{options.nested_reps} runs of {work.ms} ms a lock and cell, in a guest of a guest with "
          f"{L1_CPUS} vCPUs; exits to the\nhypervisor for 1000 operations: vf-mutex, its fastest "
          "peer, and the peer with fewest")
    bench.table(exits.HEADER, rows)
    print(f"\nfor 1000 operations, means of {len(rows)} cells")
    shown = ("sleeps", *exits.SHOWN, exits.ALL)
    bench.table(["", *shown, ""], [
        [lock, *(f"{exits.means(each)[kind]:.2f}" for kind in shown), ""]
        for lock, each in of.items()
    ])


def main(tree, options, out):
    names = peers.named(options.peers)
    check(options)
    if options.smoke:
        smoke(options)
        names = ["pthread"]
    work = workload.Workload([peers.OURS, *names], options.threads, options.sections,
                             options.think, options.hogs, options.ms)
    inner = replace(work, threads=options.nested_threads, sections=options.nested_sections,
                    hogs=[0], ms=options.nested_ms)
    try:
        rig = Rig(tree, options, out, names)
        report = bench.Report(NAME, tree, out, {
            k: v for k, v in vars(options).items() if k != "out"
        })
        report.content.update(kernel=rig.kernel.name, steps_per_ns={}, broke=rig.broke)
    except Broken as error:
        raise bench.Broken(error)
    try:
        if options.only != "nested":
            emulated_part(rig, report, options, work)
        if options.only != "emulated":
            nested_part(rig, report, options, inner)
    except Broken as error:
        # Of two guests the second may fail: what the first one did is kept.
        if report.content["samples"]:
            report.content["incomplete"] = str(error)
            report.write()
        raise bench.Broken(error)
    if rig.broke:
        print(f"\nguests that broke off, and were begun anew: {len(rig.broke)}")
    report.write()
    return 0
