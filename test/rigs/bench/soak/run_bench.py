# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every kind of wait, rewritten, with far more threads than CPUs.

Each run checks all payloads. Only rewritten programs run: the loops as written
would take minutes here. A program without a rewritten wait is an error, since
soaking it proves nothing about the rewrite.
"""

import os
import sys

import bench
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "spin-loops"))
sys.path.append(os.path.join(HERE, "..", "..", "..", "Inputs"))

import programs  # noqa: E402
from short_run import slice_of  # noqa: E402

SENTENCE = "Payloads of all kinds of rewritten waits with 64 threads."
ALONE = False

THREADS = 64
ROUNDS = 200
LONG_ROUNDS = 10_000
# Far above what a run takes (about a second; a minute with --long) on a busy
# machine; a wait that never ends is reported after it.
TIMEOUT_S = 100
LONG_TIMEOUT_S = 1800
# Locks: in one critical section of so many the holder falls asleep, so that all
# others wait for it again and again: 210 times a run, for 0.5 ms each. A prime,
# or with 64 threads it would always be the same one.
HOLDER_SLEEPS = "-DHOLDER_SLEEPS_EVERY=61"


def options(parser):
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="only these kinds")
    parser.add_argument("--long", action="store_true", help=f"{LONG_ROUNDS} rounds, not {ROUNDS}")
    parser.add_argument("--threads", type=int, default=THREADS, metavar="N", help="[%(default)s]")
    parser.add_argument("--descriptor", metavar="FILE",
                        help="use this header in place of the kind's (the soak's own tests do)")


# Notifies off leaves every wait to its timeout; the fallback is what remains
# when the runtime is not linked.
RUNS = (
    ("rewritten", "runtime linked"),
    ("no-notify", "notifies off"),
    ("rewritten-alone", "no runtime"),
)


def main(tree, options, out):
    known = programs.kinds()
    for kind in options.kinds:
        if kind not in known:
            raise bench.Usage(f"no kind '{kind}', there are: {', '.join(known)}")
    rounds = LONG_ROUNDS if options.long else ROUNDS
    timeout = LONG_TIMEOUT_S if options.long else TIMEOUT_S
    report = bench.Report("soak", tree, out, {"threads": options.threads, "rounds": rounds})
    progress = measure.Progress("soak")
    rows = []
    for kind in options.kinds or slice_of(known, 3):
        row = [f"{kind}, {options.threads} threads x {rounds}"]
        for name, what in RUNS:
            progress.at(f"{kind}, {what}")
            variant = programs.VARIANTS[name]
            program = programs.compile_program(
                tree, kind, variant, os.path.join(out, "soak"), (HOLDER_SLEEPS,),
                options.descriptor,
            )
            if not programs.rewritten_waits(tree, program):
                raise bench.Broken(f"{program}: the plugin rewrote no wait")
            one = programs.run(program, options.threads, rounds, timeout, variant.environment)
            if one.status != "ok":
                raise bench.Broken(f"{program}, {what}: not done after {timeout} s")
            report.samples({name: [one]}, kind=kind)
            row.append(f"{one.wall:.2f} s")
        rows.append(row)
    progress.end()
    bench.table(["payloads all arrived"] + [what for _, what in RUNS], rows)
    report.write()
    return 0
