# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two threads that take turns, under limits of CPU time: ./dev bench limits [--conditions C,...] [--us N,...] [--reps N]

Microseconds for a turn: a wait that spins, a sleep on a futex written by hand, and the spin
that the plugin has rewritten."""

import os

import bench
import cells
import conditions

SENTENCE = "Threads that take turns under a limit of CPU time: spinning, sleeping, and rewritten."
ALONE = True

# A run takes about this long if the threads only compute, or sleep for SLEEP_US at each hand-over:
# some periods of a limit.
RUN_US = 500_000
SMOKE_US = 20_000
SLEEP_US = 8


def options(parser):
    parser.add_argument("--conditions", metavar="C,...", default="idle,limit-0.5,limit-1,limit-1.5",
                        help="of idle, hogs, limit-CPUS [%(default)s]")
    parser.add_argument("--us", metavar="N,...", default="3,30,300", help="microseconds of a turn [%(default)s]")
    parser.add_argument("--reps", type=int, default=6, metavar="N", help="runs of each [%(default)s]")


def main(tree, options, out):
    where = conditions.usable(options.conditions.split(","))
    total = SMOKE_US if options.smoke else RUN_US
    report = bench.Report("limits", tree, out, {"smoke": options.smoke, "reps": options.reps})
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "turns.c")
    os.makedirs(out, exist_ok=True)
    flags = {"spin": [], "sleep": ["-DFUTEX"], "rewritten": [*tree.plugin_flags(), *tree.link_flags()]}
    commands = {}
    for name, more in flags.items():
        program = os.path.join(out, f"turns-{name}")
        bench.build([tree.tool("clang"), "-O2", "-pthread", source, *more, "-o", program])
        commands[name] = lambda us, program=program: ([program, us, str(int(total / max(float(us), SLEEP_US)))], {})
    cells.run(report, {f"{us} us": us for us in options.us.split(",")}, where, commands,
              1 if options.smoke else options.reps, "rewritten", "spin")
    report.write()
    return 0
