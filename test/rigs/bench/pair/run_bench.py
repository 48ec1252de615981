# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares any two commands: ./dev bench pair --a 'CMD' --b 'CMD' [--reps N].

Ratios are a / b: above 1 means that b is faster or needs less CPU.
"""

import bench
import comparison
import measure

SENTENCE = "Time and CPU of two commands, run in turn and compared pair by pair."
ALONE = False


def options(parser):
    parser.add_argument("--a", required=True, metavar="CMD", help="shell command, the one before")
    parser.add_argument("--b", required=True, metavar="CMD", help="shell command, the one after")
    parser.add_argument("--reps", type=int, default=11, metavar="N", help="pairs [%(default)s]")
    parser.add_argument("--timeout", type=float, default=600, metavar="S",
                        help="seconds after which a run is killed [%(default)s]")


def once(name, command, timeout):
    one = measure.run(command, timeout, shell=True)
    if one.status == "failed":
        raise bench.Broken(f"--{name} failed: {command}\n{one.errors.strip()}")
    return one


def main(tree, options, out):
    repetitions = 1 if options.smoke else options.reps
    if repetitions < 1:
        raise bench.Usage("--reps must be at least 1")
    report = bench.Report("pair", tree, out, {
        "a": options.a, "b": options.b, "reps": repetitions, "smoke": options.smoke,
    })
    runs, ratios = comparison.compare(
        {
            "a": lambda: once("a", options.a, options.timeout),
            "b": lambda: once("b", options.b, options.timeout),
        },
        repetitions,
        "pair",
    )
    comparison.summarize(report, runs, ratios)
    print(f"{repetitions} pairs, medians; ratios are a / b, medians of pairs")
    bench.table(comparison.HEADER, list(comparison.rows(runs, ratios)))
    report.write()
    return 0
