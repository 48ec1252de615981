# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Thread pools that poll before they sleep: ./dev bench pools [--programs P,...] [--source P=DIR ...]

Microseconds of a unit of work (a token, a product, a region, a turn of a lock): the program as it
is, built by flags only, with its waits changed by hand, and with its own option not to spin. alike-
programs are the project's own, of the same forms; for the others name the folder of their source:
  --source llama=DIR        llama.cpp, vendor/llama.cpp of the sdist of PyPI's llama-cpp-python; llamaomp=DIR
                            builds it by gcc with OpenMP, where libvfomp.so stands in place of flags
  --source keydb=DIR, openblas=DIR, onnx=DIR (ONNX Runtime), pthreadpool=DIR, marl=DIR
Eigen is Debian's."""

import os
import sys

import bench
import cells
import conditions

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "suites"))
import bring
import recipes

SENTENCE = "Thread pools that poll before they sleep: as they are, by flags, by hand, and with their own options."
ALONE = True

RUN_MS, SMOKE_MS = 300, 20
BOTH = "flags, passive"


def options(parser):
    parser.add_argument("--programs", metavar="P,...", default=",".join(f"alike-{kind}" for kind in recipes.ALIKE),
                        help=f"of {', '.join(recipes.PROGRAMS)} [%(default)s]")
    parser.add_argument("--source", metavar="P=DIR", action="append", default=[], help="where a program's source is")
    parser.add_argument("--threads", metavar="N,...", default="2,4,8", help="[%(default)s]")
    parser.add_argument("--conditions", metavar="C,...", default="idle,hogs", help="of idle, hogs, limit-CPUS [%(default)s]")
    parser.add_argument("--ms", type=int, default=RUN_MS, metavar="N", help="milliseconds of a run, at least a unit of work [%(default)s]")
    parser.add_argument("--reps", type=int, default=6, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--add", action="store_true", help="keep the cells of earlier runs of this commit in pools.json")
    parser.add_argument("--both", action="store_true", help="measure the build by flags with the program's own option, too")
    parser.add_argument("--build-only", action="store_true", help="only builds what would run")


def build(tree, name, source, folder):
    """Returns variant -> program, built if it is not there already. Programs that differ only in
    what they do share what was built."""
    program, variants = recipes.PROGRAMS[name], {}
    flags = {"original": recipes.Flags(),
             "by flags": recipes.Flags([*tree.plugin_flags()], tree.link_flags()),
             "by hand": recipes.Flags(hand=True)}
    if program.preload:
        del flags["by flags"]
    if not program.by_hand:
        del flags["by hand"]
    for variant, each in flags.items():
        place = os.path.join(folder, f"{name.split('-')[0]}-{variant.replace(' ', '-')}")
        # Another build of the plugin or the runtime makes another program.
        ours = [os.path.getmtime(f) for f in (tree.plugin, os.path.join(tree.lib, "libvfrt.a"))] if each.compile else ""
        with bring.Once(place, f"3 {source} {ours}") as todo:
            if todo:
                program.compile(tree, source, place, each)
        variants[variant] = os.path.join(place, "program")
    return variants


def command(tree, program, variant, built, threads, milliseconds):
    line, environment = program.command(built, threads, milliseconds, variant in ("passive", BOTH))
    if variant == "preload":
        environment["LD_PRELOAD"] = os.path.join(tree.lib, "libvfomp.so")
    return line, environment


def main(tree, options, out):
    names = bench.choice(options.programs, recipes.PROGRAMS, "program")
    where = conditions.usable(options.conditions.split(","))
    given = dict(one.split("=", 1) for one in options.source)
    milliseconds = str(SMOKE_MS if options.smoke else options.ms)
    report = bench.Report("pools", tree, out, {"programs": names, "conditions": where, "threads": options.threads,
                                               "ms": milliseconds, "smoke": options.smoke})
    if options.add:
        # Of a cell that is measured again, the later one counts.
        report.add_to_last(varying=("programs", "conditions", "threads"))
    folder = os.path.join(out, "pools")
    os.makedirs(folder, exist_ok=True)
    for name in names:
        program, source = recipes.PROGRAMS[name], given.get(name.split("-")[0], "")
        if program.needs_source and not os.path.isdir(source):
            raise bench.Usage(f"{name} needs --source {name.split('-')[0]}=DIR")
        built = build(tree, name, os.path.abspath(source), folder)
        ours = "by flags"
        if program.preload:
            ours = "preload"
            built[ours] = built["original"]
        if program.passive:
            built["passive"] = built["original"]
            if options.both and ours in built and not program.preload:
                built[BOTH] = built[ours]
        if options.build_only:
            continue
        print(f"{name}: us", flush=True)
        commands = {v: lambda t, v=v, p=p: command(tree, program, v, p, t, milliseconds) for v, p in built.items()}
        cells.run(report, {f"{name}, {t} threads": t for t in options.threads.split(",")}, where, commands,
                  1 if options.smoke else options.reps, ours, "original")
        report.write()
    return 0
