# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds each examples/*/story.json before and after and runs them in turn.

A story's program has to print the same both ways.
"""

import glob
import json
import os

import bench
import comparison
import measure

SENTENCE = "The example programs before and after, changed by compiler flags only."
ALONE = False

# A run of a story takes some 8 s before and far below one after, on 2 CPUs.
TIMEOUT_S = 30


def options(parser):
    parser.add_argument("--reps", type=int, default=3, metavar="N", help="pairs [%(default)s]")


def flags_after(tree, story):
    """What changes: flags of the story's own, or the plugin's."""
    include = os.path.join(tree.source, "runtime", "include")
    own = [flag.replace("INCLUDE", include) for flag in story.get("after", [])]
    return (own or tree.plugin_flags()) + tree.link_flags()


def build_story(tree, story, folder, out):
    sources = [os.path.join(folder, s) for s in story["sources"]]
    compiler = "clang" if sources[0].endswith(".c") else "clang++"
    programs = {}
    for name in ("before", "after"):
        programs[name] = os.path.join(out, f"{story['program']}-{name}")
        bench.build(
            [tree.tool(compiler), "-O2", *story["flags"], *sources, "-o", programs[name]]
            + (flags_after(tree, story) if name == "after" else [])
        )
    return programs


def once(program, arguments):
    one = measure.run([program, *arguments], TIMEOUT_S)
    if one.status == "failed":
        raise bench.Broken(f"{program}: {one.errors.strip()}")
    return one


def same_output(runs):
    printed = {r.output for each in runs.values() for r in each if r.status == "ok"}
    if len(printed) > 1:
        raise bench.Broken("before and after print different results: " + " / ".join(printed))
    return printed.pop().strip() if printed else "no run finished"


def main(tree, options, out):
    repetitions = 1 if options.smoke else options.reps
    report = bench.Report("demo", tree, out, {"reps": repetitions, "smoke": options.smoke})
    os.makedirs(os.path.join(out, "demo"), exist_ok=True)
    for path in sorted(glob.glob(os.path.join(tree.source, "examples", "*", "story.json"))):
        with open(path) as file:
            story = json.load(file)
        folder = os.path.dirname(path)
        programs = build_story(tree, story, folder, os.path.join(out, "demo"))
        arguments = story["smoke"] if options.smoke else story["arguments"]
        print(f"{story['sentence']}\n{os.path.relpath(folder)}, {bench.cpus()} CPUs, "
              f"{repetitions} pairs", flush=True)
        runs, ratios = comparison.compare(
            {name: lambda p=p: once(p, arguments) for name, p in programs.items()},
            repetitions, f"demo {story['slug']}",
        )
        comparison.summarize(report, runs, ratios, story=story["slug"])
        bench.table(comparison.HEADER, list(comparison.rows(runs, ratios)))
        print(f"both print: {same_output(runs)}\n")
    report.write()
    return 0
