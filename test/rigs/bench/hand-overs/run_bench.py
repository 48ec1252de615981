# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The shortest waits and the longest: two threads that take turns by a flag, as written
and rewritten; and waits of milliseconds that a notify ends, against a futex.
"""

import os
import statistics

import bench
import measure

SENTENCE = "Two threads that take turns, and long waits with a notify: time and CPU."
ALONE = False

HERE = os.path.dirname(os.path.abspath(__file__))
TURNS = 100_000
# Milliseconds of a wait -> waits of a run: enough that most of them know what the first
# ones have learnt, and half a second to 8 s a run.
WAITS = {1: 500, 20: 100, 200: 40}
TIMEOUT_S = 60


def options(parser):
    parser.add_argument("--reps", type=int, default=30, metavar="N", help="runs with turns [%(default)s]")
    parser.add_argument("--wakes", type=int, default=3, metavar="N", help="runs of each wait [%(default)s]")


def compiled(tree, folder, name, source, *flags):
    program = os.path.join(folder, name)
    bench.build([tree.tool("clang"), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-pthread",
                 "-I", os.path.join(tree.source, "runtime", "include"), os.path.join(HERE, source),
                 "-o", program, *flags, *tree.link_flags()])
    return program


def of(runs, key):
    return [one.values[key] for one in runs]


def print_turns(report, runs):
    rows = []
    for name, each in runs.items():
        spread = measure.spread(of(each, "ns"))
        ratio = spread["median"] / statistics.median(of(runs["as written"], "ns"))
        report.summary(part="turns", variant=name, ns=spread, ratio=ratio)
        ns = sorted(of(each, "ns"))
        rows.append([name, *(f"{n:.0f}" for n in (ns[0], spread["q1"], spread["median"], spread["q3"], ns[-1])), f"{ratio:.2f}", ""])
    bench.table(["ns for a turn of both", "min", "q1", "median", "q3", "max", "ratio", ""], rows)


def print_wakes(report, found):
    rows = []
    for milliseconds, runs in found.items():
        medians = {name: {key: statistics.median(of(each, key)) for key in ("latency_us", "cpu_us", "learnt_cpu_us")}
                   for name, each in runs.items()}
        report.summary(part="wakes", ms=milliseconds, **medians)
        cpu, learnt = (medians["vf"][key] / medians["futex"][key] for key in ("cpu_us", "learnt_cpu_us"))
        rows.append([f"{milliseconds} ms", *(f"{medians[n][key]:.1f}" for key in ("latency_us", "cpu_us") for n in ("futex", "vf")),
                     f"{cpu:.1f}", f"{learnt:.1f}", ""])
    bench.table(["wait", "futex: us to wake", "vf", "futex: CPU us", "vf", "ratio", "of the second half", ""], rows)


def main(tree, options, out):
    if options.reps < 1 or options.wakes < 1:
        raise bench.Usage("--reps and --wakes must be at least 1")
    turns, waits = TURNS, WAITS
    if options.smoke:
        options.reps = options.wakes = 1
        turns, waits = 1000, {1: 3}
    folder = os.path.join(out, "hand-overs")
    os.makedirs(folder, exist_ok=True)
    programs = {"as written": compiled(tree, folder, "turns", "turns.c"),
                "rewritten": compiled(tree, folder, "turns-rewritten", "turns.c", *tree.plugin_flags())}
    wakes = compiled(tree, folder, "wakes", "wakes.c")
    report = bench.Report("hand-overs", tree, out, {"smoke": options.smoke, "reps": options.reps, "wakes": options.wakes})
    progress = measure.Progress("hand-overs")
    progress.at("turns")
    runs = measure.in_turn({n: (lambda p=p: bench.checked(p, turns, timeout=TIMEOUT_S)) for n, p in programs.items()}, options.reps)
    report.samples(runs, part="turns")
    found = {}
    for milliseconds, number in waits.items():
        progress.at(f"waits of {milliseconds} ms")
        found[milliseconds] = measure.in_turn(
            {how: (lambda h=how: bench.checked(wakes, h, milliseconds, number, timeout=TIMEOUT_S)) for how in ("futex", "vf")}, options.wakes)
        report.samples(found[milliseconds], part="wakes", ms=milliseconds)
    progress.end()
    print(f"{options.reps} runs of {turns} turns, {options.wakes} of each wait; medians")
    print_turns(report, runs)
    print_wakes(report, found)
    report.write()
    return 0
