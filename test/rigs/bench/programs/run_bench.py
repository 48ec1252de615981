# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of PARSEC and SPLASH-2x: ./dev bench programs --src DIR [--threads N ...]

Each as it is, with the libraries that are preloaded, and compiled with the plugin, in turn. Before anything is timed, what a
program computes is held against what the original computes.
"""

import filecmp
import os
import shutil

import bench
import comparison
import measure
from recipes import RECIPES, build

SENTENCE = "PARSEC and SPLASH-2x programs as they are, with the preload, and compiled with the plugin."
VARIANTS = ("original", "preload", "rewritten", "both")
ALONE = False  # It needs sources that nobody has by default.


def options(parser):
    parser.add_argument("--src", required=True, metavar="DIR", help="where test/rigs/corpus/README.md says to put the sources")
    parser.add_argument("--programs", metavar="A,B", default=",".join(RECIPES), help="[%(default)s]")
    parser.add_argument("--variants", metavar="A,B", default=",".join(VARIANTS), help="[%(default)s]; the original is always run")
    parser.add_argument("--threads", metavar="N,M", help="threads [1 and 4 a CPU]")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--timeout", type=float, default=300, metavar="S", help="seconds after which a run is killed [%(default)s]")


class Program:
    """One program in one variant: where it is, and the environment it runs in."""

    def __init__(self, recipe, path, root, folder, environment):
        self.recipe, self.path, self.folder, self.environment = recipe, path, folder, environment
        os.makedirs(folder, exist_ok=True)
        if recipe.input:
            source = os.path.join(root, recipe.input)
            if not os.path.exists(source):
                raise bench.Usage(f"{recipe.name} needs {source}: see test/rigs/corpus/README.md")
            for name in (os.path.basename(source), "input"):
                shutil.copy(source, os.path.join(folder, name))

    def run(self, arguments, timeout, threads=1):
        words = arguments.format(threads=threads, output="output").split()
        command = ["sh", "-c", 'cd "$0" && exec "$@"', self.folder, self.path, *words]
        one = measure.run(command, timeout, environment=self.environment)
        if one.status == "failed":
            raise bench.Broken(f"{self.path} {' '.join(words)}: {one.errors.strip()[-500:]}")
        return one

    def result(self, timeout):
        self.run(self.recipe.same, timeout)
        return os.path.join(self.folder, self.recipe.compared.format(output="output"))


def variants(tree, recipe, root, out, wanted):
    folder = os.path.join(out, "programs", recipe.name)
    preload = os.path.join(tree.lib, "libvfpthread.so")
    original = build(tree, recipe, root, os.path.join(folder, "original"), [], [])
    rewritten = build(tree, recipe, root, os.path.join(folder, "rewritten"), tree.plugin_flags(), tree.link_flags())
    made = {
        "original": (original, {}),
        "preload": (original, {"LD_PRELOAD": preload}),
        "rewritten": (rewritten, {}),
        "both": (rewritten, {"LD_PRELOAD": preload}),
    }
    if not os.path.exists(preload):
        del made["preload"], made["both"]
    return {name: Program(recipe, path, root, os.path.join(folder, "run-" + name), environment)
            for name, (path, environment) in made.items() if name in wanted}


def hold_against_original(programs, timeout):
    results = {name: program.result(timeout) for name, program in programs.items()}
    for name, path in results.items():
        if not filecmp.cmp(results["original"], path, shallow=False):
            raise bench.Broken(f"{path} differs from {results['original']}")


def main(tree, options, out):
    names = bench.choice(options.programs, RECIPES, "program")
    wanted = {"original", *bench.choice(options.variants, VARIANTS, "variant")}
    try:
        counts = [int(n) for n in options.threads.split(",")] if options.threads else [bench.cpus(), 4 * bench.cpus()]
    except ValueError:
        raise bench.Usage(f"--threads {options.threads}: not numbers with commas between")
    repetitions = 1 if options.smoke else options.reps
    if repetitions < 1 or min(counts) < 1:
        raise bench.Usage("--reps and --threads must be at least 1")
    root = os.path.abspath(options.src)
    # Few variants, but many runs: another figure on the page.
    report = bench.Report("programs" if wanted == set(VARIANTS) else "programs-pairs", tree, out, {"programs": names, "threads": counts, "reps": repetitions, "smoke": options.smoke})
    print(f"{repetitions} runs of each, medians; ratios are original / other, medians of pairs")
    for name in names:
        programs = variants(tree, RECIPES[name], root, out, wanted)
        if RECIPES[name].same:
            hold_against_original(programs, options.timeout)
        for threads in counts:
            runs, ratios = comparison.compare(
                {v: lambda p=p: p.run(p.recipe.arguments, options.timeout, threads) for v, p in programs.items()},
                repetitions, f"{name}, {threads} threads")
            comparison.summarize(report, runs, ratios, program=name, threads=threads)
            print(f"\n{name}, {threads} threads")
            bench.table(comparison.HEADER, list(comparison.rows(runs, ratios)))
    report.write()
    return 0
