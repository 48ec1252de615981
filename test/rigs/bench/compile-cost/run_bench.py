# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the plugin adds to a compilation and the check to a clang-tidy run.

Judged by CPU time: on a shared machine wall time moves by more than the 2 %
looked for. --instructions counts instead what valgrind executes, which does not
move at all, but takes fifty times as long.
"""

import os
import re
import shlex
import shutil

import bench
import comparison
import measure
import sources

SENTENCE = "Compile time with the plugin over without, clang-tidy with the check over one trivial check."
ALONE = True

PLUGIN_BOUND = 1.02
CHECK_BOUND = 1.05
# Matches assembly, of which there is none to speak of: what is left is parsing
# and walking the file once, which clang-tidy does for any check that runs. One
# for C++ only would not do that in C.
TRIVIAL_CHECK = "hicpp-no-assembler"
CHECK = "vfriendly-spin-loops"


def options(parser):
    parser.add_argument("--source", action="append", metavar="'FILE [FLAGS]'",
                        help="this file with these flags instead of the default ones")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="pairs [%(default)s]")
    parser.add_argument("--instructions", action="store_true", help="count instructions under valgrind, once")
    parser.add_argument("--only", choices=("plugin", "check"), help="only one of the two")


def chosen(tree, options, out):
    if options.source:
        picked = []
        for text in options.source:
            path, *flags = shlex.split(text)
            if not os.path.exists(path):
                raise bench.Usage(f"--source {path}: no such file")
            picked.append(sources.Source(os.path.basename(path), path, flags))
        return picked
    if options.smoke:
        path = os.path.join(tree.source, "test", "rigs", "bench", "spin-loops", "harness.c")
        return [sources.Source("harness.c", path, [])]
    folder = os.path.join(out, "src")
    return [sources.sqlite(folder), sources.json_tests(folder)] + sources.own_biggest(tree, 2)


def once(command):
    one = measure.run(command, timeout=600)
    if one.status != "ok":
        raise bench.Broken(f"{' '.join(command)}: {one.status}\n{one.errors.strip()[-800:]}")
    if "load request ignored" in one.errors:
        raise bench.Broken(f"clang-tidy did not load the module: {one.errors.strip()[:400]}")
    return one


def commands(tree, source):
    """measurement -> (bound, with, without)"""
    compiler = "clang++" if source.path.endswith(("pp", "cc")) else "clang"
    compile_it = [tree.tool(compiler), "-O2", "-w", *source.flags, "-c", source.path,
                  "-o", os.devnull]
    tidy = tree.tool("clang-tidy")
    tail = [source.path, "--", "-w", *source.flags]
    return {
        "plugin": (PLUGIN_BOUND, compile_it + tree.plugin_flags(), compile_it),
        "check": (
            CHECK_BOUND,
            [tidy, "--quiet", f"--load={tree.tidy_module}", f"--checks=-*,{CHECK}", *tail],
            [tidy, "--quiet", f"--checks=-*,{TRIVIAL_CHECK}", *tail],
        ),
    }


def instructions(command):
    if not shutil.which("valgrind"):
        raise bench.Usage("--instructions needs valgrind")
    # The driver runs the compiler in its own process.
    words = ["-fintegrated-cc1"] if "-c" in command else []
    one = measure.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", command[0], *words,
                       *command[1:]], timeout=1800)
    found = re.search(r"I +refs: +([0-9,]+)", one.errors)
    if one.status != "ok" or not found:
        raise bench.Broken(f"{' '.join(command)}: {one.status}\n{one.errors.strip()[-800:]}")
    return int(found[1].replace(",", ""))


def count(tree, options, out, report):
    rows = []
    for source in chosen(tree, options, out):
        for what, (bound, added, plain) in commands(tree, source).items():
            if options.only not in (None, what):
                continue
            found = {"with": instructions(added), "without": instructions(plain)}
            ratio = found["with"] / found["without"]
            report.summary(source=source.name, measurement=what, **found, ratio=ratio)
            rows.append([f"{what}: {source.name}", f"{found['without'] / 1e6:.1f}", f"{ratio:.4f}",
                         "ok" if ratio <= bound else f"short: > {bound}"])
    bench.table(["", "million instructions without", "with / without", "verdict"], rows)
    report.write()
    return 0


def main(tree, options, out):
    repetitions = 1 if options.smoke else options.reps
    report = bench.Report("compile-cost", tree, out, {"reps": repetitions, "smoke": options.smoke})
    if options.instructions:
        return count(tree, options, out, report)
    rows = []
    for source in chosen(tree, options, out):
        for what, (bound, added, plain) in commands(tree, source).items():
            if options.only not in (None, what):
                continue
            # The baseline is what has the cost, so that ratios are added / plain.
            # "again" is the plain command once more: how far its ratio to
            # itself is from 1 says what this machine can resolve right now.
            runs, ratios = comparison.compare(
                {"with": lambda c=added: once(c), "without": lambda c=plain: once(c),
                 "again": lambda c=plain: once(c)},
                repetitions, f"{what} on {source.name}",
            )
            control = measure.median_figure(
                measure.pair_ratios(runs["again"], runs["without"], measure.cpu_of)
            )
            comparison.summarize(report, runs, ratios, source=source.name, measurement=what)
            cpu = measure.median_figure(ratios["without"]["cpu"])
            ends = measure.spread([f.value for f in ratios["without"]["cpu"]])
            verdict = "ok" if cpu.at_most(bound) else f"short: {cpu.text('{:.3f}')} > {bound}"
            seconds = measure.median_figure(map(measure.cpu_of, runs["without"]))
            rows.append([
                f"{what}: {source.name}", seconds.text("{:.2f} s"), cpu.text("{:.3f}"),
                f"{ends['q1']:.3f}..{ends['q3']:.3f}", control.text("{:.3f}"),
                measure.median_figure(ratios["without"]["wall"]).text("{:.3f}"),
                "smoke" if options.smoke else verdict,
            ])
    print(f"{repetitions} pairs; ratios are with / without, medians of pairs; "
          "control = without / without")
    bench.table(
        ["", "CPU without", "CPU ratio", "quartiles", "control", "time ratio", "verdict"], rows
    )
    report.write()
    return 0
