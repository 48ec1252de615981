# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Our locks against each of the others, cell by cell, by pairs of runs: --each.

vfpthread is glibc's mutex in a process with libvfpthread preloaded. With --hints, vf_mutex is also run with the hints of
`gleaner hints`. A cell may be measured in a run of its own, as
results are added to those of the same commit and options. A loss is a cell whose interval lies below 1 at the level
that holds for all of the table together, so that chance makes one in 20 tables."""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

import bench
import measure
import peers

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "checkers", "cli"))
from vfriendly import intervals  # noqa: E402

PRELOADED = "vfpthread"
# vf_mutex in a process that `gleaner hints` tells which holders are off their CPUs: --hints, as root.
HINTED = "vf-mutex-hints"
# What a run may have of its own while it is added to the last one.
VARYING = ("threads", "sections", "think", "hogs", "reps")
CELL = ("threads", "section_ns", "think_ns", "hogs")
THROUGHPUT, CPU = "ops_per_s", "cpu_ns_per_op"


@contextlib.contextmanager
def hints(tree, wanted):
    """Runs the daemon at a socket of its own. Yields the socket's name."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hints")
        if not wanted:
            yield path
            return
        daemon = subprocess.Popen([os.path.join(tree.build, "bin", "gleaner"), "hints", "--at", path], stdout=subprocess.PIPE, text=True)
        try:
            if not daemon.stdout.readline():
                raise bench.Broken("gleaner hints does not run")
            time.sleep(1)  # until pages are ready
            yield path
        finally:
            daemon.terminate()
            daemon.wait()


def environment(tree, name, socket):
    preload = {"LD_PRELOAD": os.path.join(tree.lib, "libvfpthread.so")} if name == PRELOADED else {}
    return {**preload, "VF_HINTS": socket if name == HINTED else "/nonexistent"}


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


def mean_of_cells(rows, key):
    """The geometric mean over cells in each repetition, as one interval."""
    repetitions = range(min(len(row[key]) for row in rows)) if rows else ()
    means = [peers.geometric([row[key][n][0] / row[key][n][1] for row in rows]) for n in repetitions]
    return intervals.of_ratios(means, [1] * len(means)).text() if means else "-"


def best_of_cells(rows, key, sign):
    """Our ratios to the best peer of each cell: the odd repetitions tell which one it is, and the even ones judge."""
    ratios = []
    for cell in dict.fromkeys(map(_cell, rows)):
        of = [[a / b for a, b in row[key]] for row in rows if _cell(row) == cell and row["peer"] not in (peers.OURS, PRELOADED, HINTED)]
        best = min(of, key=lambda each: sign * statistics.median(each[0::2]))
        ratios.append(statistics.median(best[1::2] or best))
    return ratios


def _cell(row):
    return tuple(row[key] for key in CELL)


def _title(cell):
    return f"{cell[0]} threads, {cell[1]} ns in, {cell[2]} out" + (", hog" if cell[3] else "")


def print_cells(rows):
    names = list(dict.fromkeys(row["peer"] for row in rows))
    of = {(_cell(row), row["peer"]): row for row in rows}
    bench.table(["throughput by that of", *names, ""],
                [[_title(cell), *(interval(of[cell, name][THROUGHPUT]).text() for name in names), ""] for cell in sorted({_cell(row) for row in rows})])


def print_peers(rows):
    """A row for each peer, and the cells in which ours is worse beyond chance."""
    table, lost = [], []
    for name in dict.fromkeys(row["peer"] for row in rows):
        of = [row for row in rows if row["peer"] == name]
        worst = min(of, key=lambda row: interval(row[THROUGHPUT]).estimate)
        losses = [row for row in of if interval(row[THROUGHPUT], len(rows)).high < 1]
        lost += losses
        table.append([name, *(mean_of_cells([row for row in of if bool(row["hogs"]) == hog], THROUGHPUT) for hog in (False, True)),
                      interval(worst[THROUGHPUT]).text(), str(len(losses)), mean_of_cells(of, CPU), ""])
    bench.table(["throughput by that of", "no hog", "hog", "worst cell", "worse beyond chance", "CPU an operation", ""], table)
    for row in lost:
        print(f"worse: {row['peer']}, {_title(_cell(row))}: {interval(row[THROUGHPUT]).text()}, CPU {interval(row[CPU]).text()}")
    fast, cpu = best_of_cells(rows, THROUGHPUT, 1), best_of_cells(rows, CPU, -1)
    print(f"against the best of each of {len(fast)} cells: throughput {peers.geometric(fast):.3f}, worst {min(fast):.2f}; "
          f"CPU an operation {peers.geometric(cpu):.3f}, worst {max(cpu):.2f}")


def print_tables(rows):
    for lock in dict.fromkeys(row["lock"] for row in rows):
        print(f"{lock}: geometric means of pairs [95 %]")
        of = [row for row in rows if row["lock"] == lock and row["peer"] != lock]
        print_cells(of)
        print_peers(of)


def run(tree, options, programs, steps, once, cells, out):
    ours = [peers.OURS, PRELOADED, *([HINTED] if options.hints else [])]
    others = [name for name in programs if name != peers.OURS]
    programs = {**programs, PRELOADED: programs["pthread"], **({HINTED: programs[peers.OURS]} if options.hints else {})}
    report = bench.Report("blocking-sync-each", tree, out,
                          {k: v for k, v in vars(options).items() if k not in ("out", "src")})
    report.add_to_last(VARYING, lambda row: _cell(row) in cells)
    progress = measure.Progress("blocking-sync")
    with hints(tree, options.hints) as socket:
        for number, cell in enumerate(cells):
            progress.at(f"cell {number + 1} of {len(cells)}")
            runs = measure.in_turn({name: (lambda n=name, p=program: once(p, cell, options.ms, steps, environment(tree, n, socket)))
                                    for name, program in programs.items()}, options.reps)
            for row in of_cell(runs, ours, others, options.ms):
                report.summary(**dict(zip(CELL, cell)), **row)
    progress.end()
    print(f"{options.reps} runs of {options.ms} ms a lock and cell")
    print_tables(report.content["summary"])
    report.write()
    return 0
