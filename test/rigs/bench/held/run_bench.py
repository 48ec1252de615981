# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads that take blocks of a fresh arena under a spin lock: written page by page while it is held,
as vfriendly-blocking-sync-held reports, and with each remedy that the report names."""

import os
import sys

import bench
import measure

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "checkers", "cli"))
from vfriendly import intervals

SENTENCE = "Fresh pages touched while a spin lock is held, and the remedies: time and CPU for a block."
ALONE = False

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("held", "moved", "populated", "huge", "mutex")
# Blocks of 64 KiB: a run takes some tenths of a second, and half a gigabyte.
BLOCKS = 8000
TIMEOUT_S = 120


def options(parser):
    parser.add_argument("--reps", type=int, default=12, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--threads", type=int, default=4 * bench.cpus(), metavar="N", help="[%(default)s, four for each CPU]")


def main(tree, options, out):
    if options.reps < 1 or not 1 <= options.threads <= 64:
        raise bench.Usage("--reps must be at least 1, --threads between 1 and 64")
    blocks = BLOCKS
    if options.smoke:
        options.reps, blocks = 1, 50
    folder = os.path.join(out, "held")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "s_lock")
    bench.build([tree.tool("clang"), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-pthread", "-I", os.path.join(tree.source, "runtime", "include"),
                 os.path.join(HERE, "s_lock.c"), "-o", program, *tree.link_flags()])
    report = bench.Report("held", tree, out, {"smoke": options.smoke, "reps": options.reps, "threads": options.threads})
    runs = measure.in_turn({m: (lambda m=m: bench.checked(program, m, options.threads, blocks, timeout=TIMEOUT_S)) for m in MODES}, options.reps)
    report.samples(runs)
    rows = []
    for mode, each in runs.items():
        ns, cpu = (measure.spread([one.values[key] for one in each]) for key in ("ns", "cpu_ns"))
        ratios = {key: intervals.of_ratios([one.values[key] for one in runs["held"]], [one.values[key] for one in each])
                  for key in ("ns", "cpu_ns")}
        report.summary(variant=mode, ns=ns, cpu_ns=cpu, **{f"{key}_ratio": (r.estimate, r.low, r.high) for key, r in ratios.items()})
        rows.append([mode, *(f"{ns[key] / 1000:.1f}" for key in ("q1", "median", "q3")), ratios["ns"].text(), f"{cpu['median'] / 1000:.1f}",
                     ratios["cpu_ns"].text(), ""])
    print(f"{options.threads} threads on {bench.cpus()} CPUs, {options.reps} runs of {blocks} blocks of 64 KiB")
    print("ratios to held: geometric means of pairs [95 %]")
    bench.table(["us for a block", "q1", "median", "q3", "times as fast", "CPU us", "times less CPU", ""], rows)
    report.write()
    return 0
