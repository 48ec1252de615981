# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A thread hands items to another one, and signals while it holds the mutex or after the release."""

import os
import sys

import bench
import measure

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "checkers", "cli"))
from vfriendly import intervals

SENTENCE = "A signal with the mutex held, against one after the release: time, CPU and sleeps for an item."
ALONE = True

HERE = os.path.dirname(os.path.abspath(__file__))
# CPUs, microseconds between items and of work after the signal, and whether the item's taking is waited for.
CELLS = [(cpus, gap, work, answers) for cpus in (1, 2) for gap, work, answers in
         ((0, 0, True), (20, 0, False), (20, 2, False), (20, 20, False), (20, 100, False))]
ITEMS = 4000
TIMEOUT_S = 60


def options(parser):
    parser.add_argument("--reps", type=int, default=20, metavar="N", help="pairs of runs [%(default)s]")


def main(tree, options, out):
    if options.reps < 1:
        raise bench.Usage("--reps must be at least 1")
    items = ITEMS
    if options.smoke:
        options.reps, items = 1, 20
    folder = os.path.join(out, "signal-locked")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "signals")
    bench.build([tree.tool("clang"), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-pthread", os.path.join(HERE, "signals.c"), "-o", program])
    report = bench.Report("signal-locked", tree, out, {"smoke": options.smoke, "reps": options.reps})
    rows = []
    for cpus, gap, work, answers in CELLS:
        if cpus > bench.cpus():
            continue
        words = [cpus, gap * 1000, work * 1000, items, *(["answer"] if answers else [])]
        runs = measure.in_turn({m: (lambda m=m: bench.checked(program, m, *words, timeout=TIMEOUT_S)) for m in ("held", "after")}, options.reps)
        cell = {"cpus": cpus, "gap_us": gap, "work_us": work, "answers": answers}
        report.samples(runs, **cell)
        values = {key: [[one.values[key] for one in runs[m]] for m in ("held", "after")] for key in ("ns", "cpu_ns", "sleeps")}
        ratios = {key: intervals.of_ratios(*values[key]) for key in ("ns", "cpu_ns")}
        medians = {key: [measure.spread(each)["median"] for each in pair] for key, pair in values.items()}
        report.summary(**cell, **medians, **{f"{key}_ratio": (r.estimate, r.low, r.high) for key, r in ratios.items()})
        rows.append([str(cpus), f"{gap} us" + (", answered" if answers else ""), f"{work} us",
                     *(f"{n / 1000:.1f}" for n in medians["ns"]), ratios["ns"].text(),
                     *(f"{n / 1000:.1f}" for n in medians["cpu_ns"]), ratios["cpu_ns"].text(),
                     *(f"{n:.2f}" for n in medians["sleeps"])])
    print(f"{options.reps} pairs of runs of {items} items; ratios of held to after: geometric means [95 %], above 1: after is better")
    bench.table(["CPUs", "between items", "work after the signal", "us: held", "after", "times as fast", "CPU us: held", "after",
                 "times less CPU", "sleeps: held", "after"], rows)
    report.write()
    return 0
