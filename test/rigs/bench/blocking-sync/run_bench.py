# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One mutex against the best of the others, cell by cell.

A cell is a number of threads, a time in the lock, a time out of it, and with or
without a thread that only computes. Which peer is best in a cell is told by the odd
repetitions and held against us in the even ones: the best of many is best by luck
too, and by the same runs an identical lock would seem 4 % slower than it.
"""

import itertools
import os

import bench
import measure
import peers

SENTENCE = "vf_mutex against glibc, nsync, Abseil, std::atomic::wait and Concurrency Kit."
ALONE = False

# A run that does not end is a lock that hangs.
TIMEOUT_S = 60


def options(parser):
    parser.add_argument("--threads", type=peers.numbers, default=[1, 2, 4, 8, 16, 32], metavar="N,...")
    parser.add_argument("--sections", type=peers.numbers, default=[0, 100, 1000, 10000], metavar="NS,...")
    parser.add_argument("--think", type=peers.numbers, default=[0, 1000], metavar="NS,...")
    parser.add_argument("--hogs", type=peers.numbers, default=[0, 1], metavar="N,...")
    parser.add_argument("--ms", type=int, default=60, help="length of a run [%(default)s]")
    parser.add_argument("--reps", type=int, default=20, metavar="N", help="runs a cell and lock [%(default)s]")
    parser.add_argument("--peers", default=",".join(peers.PEERS), metavar="NAME,...")


def calibrate(program):
    """Steps of work a nanosecond, once for all: a section is the same work in
    every run, whatever the clock says meanwhile."""
    return measure.run([program], TIMEOUT_S).values["steps_per_ns"]


def once(program, cell, milliseconds, steps_per_ns):
    threads, section, think, hogs = cell
    arguments = (threads, round(section * steps_per_ns), round(think * steps_per_ns), hogs,
                 milliseconds)
    one = measure.run([program, *map(str, arguments)], TIMEOUT_S)
    if one.status != "ok" or "ops_per_s" not in one.values:
        raise bench.Broken(f"{program} {cell}: {one.status} {one.output}{one.errors}")
    return one


def main(tree, options, out):
    names = peers.named(options.peers)
    if options.smoke:
        names, options.reps, options.ms = ["pthread", "atomic-wait"], 2, 5
        options.threads, options.sections = [1, 4], [0]
        options.think, options.hogs = [0], [0]
    bench.install(sorted({peers.PEERS[p][0] for p in names} - {None}))
    programs = peers.compile_locks(tree, [peers.OURS, *names], os.path.join(out, "blocking-sync"))
    steps = calibrate(programs[peers.OURS])
    report = bench.Report("blocking-sync", tree, out, {
        k: v for k, v in vars(options).items() if k != "out"
    })
    progress = measure.Progress("blocking-sync")
    cells = list(itertools.product(
        options.threads, options.sections, options.think, options.hogs
    ))
    rows, verdicts = [], []
    for number, cell in enumerate(cells):
        progress.at(f"cell {number + 1} of {len(cells)}")
        runs = measure.in_turn(
            {n: (lambda p=p: once(p, cell, options.ms, steps)) for n, p in programs.items()},
            options.reps,
        )
        named = dict(zip(("threads", "section_ns", "think_ns", "hogs"), cell))
        report.samples(runs, **named)
        verdict = peers.judge(runs, names)
        report.summary(**named, **verdict)
        verdicts.append(verdict)
        rows.append([
            f"{cell[0]} threads, {cell[1]} ns in, {cell[2]} out" + (", hog" if cell[3] else ""),
            f"{verdict['throughput']:.2f}", verdict["fastest"],
            f"{verdict['cpu']:.2f}", verdict["thriftiest"],
            f"{verdict['p99_wait_us']:.0f}", f"{verdict['best_p99_wait_us']:.0f}",
            f"{verdict['jain']:.2f}", f"{verdict['best_jain']:.2f}", "",
        ])
    progress.end()
    print(f"{options.reps} runs of {options.ms} ms a lock and cell; throughput and CPU per "
          "operation over those of the best peer of the cell")
    bench.table(["", "throughput", "of", "CPU/op", "of", "p99 us", "its", "Jain", "its", ""], rows)
    if not options.smoke:
        fast = [v["throughput"] for v in verdicts]
        cpu = [v["cpu"] for v in verdicts]
        print(f"throughput: geometric mean {peers.geometric(fast):.3f}, worst cell {min(fast):.2f}; "
              f"CPU per operation: geometric mean {peers.geometric(cpu):.3f}, worst {max(cpu):.2f}")
    report.write()
    return 0
