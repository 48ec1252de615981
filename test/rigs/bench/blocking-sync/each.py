# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our locks against each of the others, cell by cell, by pairs of runs: --each.

vfpthread is glibc's mutex in a process with libvfpthread preloaded. A cell may be measured in a run of its own, as
results are added to those of the same commit and options. A loss is a cell whose interval lies below 1 at the level
that holds for all of the table together, so that chance has one in 20 tables."""

import os
import sys

import bench
import measure
import peers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "checkers", "cli"))
from vfriendly import intervals  # noqa: E402

PRELOADED = "vfpthread"
OURS = (peers.OURS, PRELOADED)
# What a run may have of its own while it is added to the last one.
VARYING = ("threads", "sections", "think", "hogs")
CELL = ("threads", "section_ns", "think_ns", "hogs")
THROUGHPUT, CPU = "ops_per_s", "cpu_ns_per_op"


def environment(tree, name):
    return {"LD_PRELOAD": os.path.join(tree.lib, "libvfpthread.so")} if name == PRELOADED else None


def of_cell(runs, ours, others, milliseconds):
    """Pairs of each of ours with each of the others, as rows of the summary. A run without an operation has one."""
    rows = []
    least = {THROUGHPUT: 1000 / milliseconds, CPU: 1e-9}
    for lock in ours:
        for peer in others:
            row = {"lock": lock, "peer": peer}
            for key in (THROUGHPUT, CPU):
                row[key] = [tuple(max(one.values[key], least[key]) for one in pair) for pair in zip(runs[lock], runs[peer])]
            rows.append(row)
    return rows


def interval(pairs, comparisons=1):
    return intervals.of_ratios([a for a, _ in pairs], [b for _, b in pairs], comparisons=comparisons)


def _cell(row):
    return tuple(row[key] for key in CELL)


def _title(cell):
    return f"{cell[0]} threads, {cell[1]} ns in, {cell[2]} out" + (", hog" if cell[3] else "")


def print_tables(rows):
    cells, names = sorted({_cell(row) for row in rows}), list(dict.fromkeys(row["peer"] for row in rows))
    for lock in dict.fromkeys(row["lock"] for row in rows):
        of = {(_cell(row), row["peer"]): row for row in rows if row["lock"] == lock}
        print(f"throughput of {lock} over that of each: geometric mean of pairs [95 %]")
        bench.table(["", *names, ""], [[_title(cell), *(interval(of[cell, name][THROUGHPUT]).text() for name in names), ""]
                                       for cell in cells])
        for key, better, title in ((THROUGHPUT, "high", "throughput"), (CPU, "low", "CPU an operation")):
            means = [peers.geometric([interval(of[cell, name][key]).estimate for cell in cells]) for name in names]
            print(f"{title}, mean of the cells: " + ", ".join(f"{name} {mean:.2f}" for name, mean in zip(names, means)))
            lost = []
            for (cell, name), row in of.items():
                found = interval(row[key], len(of))
                if (found.high < 1) if better == "high" else (found.low > 1):
                    lost.append(f"{name} {_title(cell)}: {found.text()}")
            print(f"worse beyond chance: {len(lost)} of {len(of)}", *lost, sep="\n  ")


def run(tree, options, programs, steps, once, cells, out):
    others = [name for name in programs if name not in OURS]
    report = bench.Report("blocking-sync-each", tree, out,
                          {k: v for k, v in vars(options).items() if k not in ("out", "src")})
    report.add_to_last(VARYING, lambda row: _cell(row) in cells)
    progress = measure.Progress("blocking-sync")
    for number, cell in enumerate(cells):
        progress.at(f"cell {number + 1} of {len(cells)}")
        runs = measure.in_turn({name: (lambda n=name, p=program: once(p, cell, options.ms, steps, environment(tree, n)))
                                for name, program in programs.items()}, options.reps)
        for row in of_cell(runs, OURS, others, options.ms):
            report.summary(**dict(zip(CELL, cell)), **row)
    progress.end()
    print(f"{options.reps} runs of {options.ms} ms a lock and cell")
    print_tables(report.content["summary"])
    report.write()
    return 0
