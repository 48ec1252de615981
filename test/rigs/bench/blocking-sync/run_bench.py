# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One mutex against the best of the others, cell by cell.

A cell is a number of threads, a time in the lock, a time out of it, and with or
without a thread that only computes. Which peer is best in a cell is told by the odd
repetitions and held against us in the even ones: the best of many is best by luck
too, and by the same runs an identical lock would seem 4 % slower than it.

With --bounds, vf_mutex is built once for each time after which it hands the lock over,
and the table has a row for each: what the bound costs in throughput and gains in
fairness. With --late, two threads: how often does one that asks for a lock in constant
use not get it in LATE_US, and for how long does it then sleep beside a free lock?
With --each, our locks by pairs against each of the others, to which --src DIR adds those of
FlexGuard's repository.
"""

import itertools
import os
import statistics

import bench
import drop_ins
import each
import measure
import peers

SENTENCE = "vf_mutex against glibc, nsync, Abseil, std::atomic::wait and Concurrency Kit."
ALONE = False

# A run that does not end is a lock that hangs.
TIMEOUT_S = 60
LATE_US, LATE_ROUNDS = 700, 200


def options(parser):
    parser.add_argument("--threads", type=peers.numbers, default=[1, 2, 4, 8, 16, 32], metavar="N,...")
    parser.add_argument("--sections", type=peers.numbers, default=[0, 100, 1000, 10000], metavar="NS,...")
    parser.add_argument("--think", type=peers.numbers, default=[0, 1000], metavar="NS,...")
    parser.add_argument("--hogs", type=peers.numbers, default=[0, 1], metavar="N,...")
    parser.add_argument("--ms", type=int, default=60, help="length of a run [%(default)s]")
    parser.add_argument("--reps", type=int, default=20, metavar="N", help="runs a cell and lock [%(default)s]")
    parser.add_argument("--bounds", type=peers.numbers, metavar="US,...",
                        help="compare these bounds of vf_mutex's hand-over with each other")
    parser.add_argument("--late", action="store_true", help="wait for a lock in constant use")
    parser.add_argument("--peers", metavar="NAME,...", help="[all; those with sources of their own only with --each]")
    parser.add_argument("--each", action="store_true", help="compare by pairs with each of the others; adds to the last run")
    parser.add_argument("--hints", action="store_true", help="with --each, vf_mutex with gleaner hints too; needs root")
    parser.add_argument("--src", metavar="DIR", help="a checkout of github.com/vlaforet/flexguard, whose locks are built")


def calibrate(program):
    """Steps of work a nanosecond, once for all: a section is the same work in
    every run, whatever the clock says meanwhile."""
    return measure.run([program], TIMEOUT_S).values["steps_per_ns"]


def checked(command, key, environment=None):
    one = measure.run(command, TIMEOUT_S, environment)
    if one.status != "ok" or key not in one.values:
        raise bench.Broken(f"{' '.join(command)}: {one.status} {one.output}{one.errors}")
    return one


def once(program, cell, milliseconds, steps_per_ns, environment=None):
    threads, section, think, hogs = cell
    arguments = (threads, round(section * steps_per_ns), round(think * steps_per_ns), hogs,
                 milliseconds)
    return checked([program, *map(str, arguments)], "ops_per_s", environment)


def print_cells(options, found):
    rows = [[
        f"{cell[0]} threads, {cell[1]} ns in, {cell[2]} out" + (", hog" if cell[3] else ""),
        f"{v['throughput']:.2f}", v["fastest"], f"{v['cpu']:.2f}", v["thriftiest"],
        f"{v['p99_wait_us']:.0f}", f"{v['best_p99_wait_us']:.0f}",
        f"{v['jain']:.2f}", f"{v['best_jain']:.2f}", "",
    ] for cell, v in found]
    print(f"{options.reps} runs of {options.ms} ms a lock and cell; throughput and CPU per "
          "operation over those of the best peer of the cell")
    bench.table(["", "throughput", "of", "CPU/op", "of", "p99 us", "its", "Jain", "its", ""], rows)


def over_cells(found):
    fast = [v["throughput"] for _, v in found]
    cpu = [v["cpu"] for _, v in found]
    return peers.geometric(fast), min(fast), peers.geometric(cpu), max(cpu)


def print_bounds(options, found):
    rows = []
    for bound in options.bounds:
        of = [(cell, v) for cell, v in found if v["lock"] == peers.with_bound(bound)]
        jain = [v["jain"] for _, v in of]
        rows.append([f"{bound} us", *(f"{n:.2f}" for n in over_cells(of)),
                     f"{statistics.fmean(jain):.2f}", f"{min(jain):.2f}"])
    bench.table(["hand-over after", "throughput", "worst", "CPU/op", "worst", "Jain", "lowest"], rows)


def late(programs, options, report):
    runs = measure.in_turn(
        {n: (lambda p=p: checked([p, "late", str(LATE_US), str(LATE_ROUNDS)], "late"))
         for n, p in programs.items()}, options.reps)
    report.samples(runs)
    rows = []
    for name, repeated in runs.items():
        of = {k: peers.median(repeated, k) for k in ("late", "then_us", "then_p90_us")}
        report.summary(lock=name, **of)
        rows.append([name, f"{100 * of['late']:.0f} %", f"{of['then_us']:.0f}", f"{of['then_p90_us']:.0f}"])
    bench.table(["", f"not within {LATE_US} us", "then after us", "p90"], rows)


def main(tree, options, out):
    built = drop_ins.there(options.src) if options.each else []
    names = bench.choice(options.peers, [*peers.PEERS, *built], "peer")
    if options.smoke:
        names, options.reps, options.ms = ["pthread", "atomic-wait"], 2, 5
        options.threads, options.sections = [1, 4], [0]
        options.think, options.hogs = [0], [0]
    bench.install(peers.packages(names))
    ours = [peers.with_bound(b) for b in options.bounds] if options.bounds else [peers.OURS]
    programs = peers.compile_locks(tree, [*ours, *names], os.path.join(out, "blocking-sync"), source=options.src)
    steps = calibrate(programs[ours[0]])
    cells = list(itertools.product(
        options.threads, options.sections, options.think, options.hogs
    ))
    if options.each:
        return each.run(tree, options, programs, steps, once, cells, out)
    part = "-bounds" if options.bounds else "-late" if options.late else ""
    report = bench.Report("blocking-sync" + part, tree, out, {
        k: v for k, v in vars(options).items() if k != "out"
    })
    if options.late:
        late(programs, options, report)
        report.write()
        return 0
    progress = measure.Progress("blocking-sync")
    found = []
    for number, cell in enumerate(cells):
        progress.at(f"cell {number + 1} of {len(cells)}")
        runs = measure.in_turn(
            {n: (lambda p=p: once(p, cell, options.ms, steps)) for n, p in programs.items()},
            options.reps,
        )
        named = dict(zip(("threads", "section_ns", "think_ns", "hogs"), cell))
        report.samples(runs, **named)
        for lock in ours:
            verdict = {"lock": lock, **peers.judge(runs, names, lock)}
            report.summary(**named, **verdict)
            found.append((cell, verdict))
    progress.end()
    if options.bounds:
        print_bounds(options, found)
    else:
        print_cells(options, found)
        if not options.smoke:
            fast, slowest, cpu, dearest = over_cells(found)
            print(f"throughput: geometric mean {fast:.3f}, worst cell {slowest:.2f}; "
                  f"CPU per operation: geometric mean {cpu:.3f}, worst {dearest:.2f}")
    report.write()
    return 0
