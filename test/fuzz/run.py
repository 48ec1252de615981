#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs and modules, before the passes against after.

  run.py BUILD [KIND...] [--minutes N | --programs N] [--seed S]

A kind is a file of kinds/, which has
  SENTENCE                 what its programs are
  Kind(tools, folder)      builds and runs in folder
    write(seed, folder)    the program of seed, always the same; returns its path
    judge(seed, source)    raises compare.Found or compare.Skip
    rewrites               how many places the passes have changed so far
and, where one process can judge many programs, judge_all(sources) -> {seed: Found};
REDUCES = False if programs are as small as they can be.

A program that fails is kept in BUILD/fuzz/KIND-SEED, reduced, beside how to see it fail
again. Exit status: 0 without findings, 1 with, 2 on a usage error, 3 if a tool is missing
or every program showed nothing.
"""

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import reduce
from compare import Found, Skip, Tools

KINDS = ("csmith", "threads", "heap", "loops", "ir", "fixit", "mlir", "malloc", "emulator")
DEFAULT_MINUTES = 10
LLVM = "/usr/lib/llvm-22/bin"


def kind_of(name):
    return importlib.import_module(f"kinds.{name}")


def is_built(build, name):
    library = {"mlir": "libvfriendly-mlir.so", "malloc": "libvfmalloc.so", "emulator": "libvfspin.so"}.get(name)
    return not library or os.path.exists(os.path.join(build, "lib", library))


class Counts:
    def __init__(self):
        self.programs = self.skipped = self.findings = 0


def keep(options, name, seed, source, found, kind):
    """Keeps the program of a finding, and reduces a copy of it."""
    folder = os.path.join(options.out, f"{name}-{seed}")
    os.makedirs(folder, exist_ok=True)
    kept = shutil.copy(source, os.path.join(folder, "program" + os.path.splitext(source)[1]))
    again = f"./dev fuzz {name} --seed {seed} --file "
    with open(os.path.join(folder, "finding.txt"), "w") as file:
        file.write(f"{found}\n\nagain: {again}{kept}\n")
    print(f"{name}: seed {seed}: {found}\n  again: {again}{kept}", flush=True)
    if options.reduce and getattr(kind_of(name), "REDUCES", True):
        reduced = reduce.reduce(options, name, seed, kept, found, kind)
        print(f"  reduced: {reduced}" if reduced else "  not reduced", flush=True)


def batches(options, counts):
    """The seeds to try, until the time is over or there are enough."""
    end = time.monotonic() + options.minutes * 60 if options.minutes else None
    seed = options.seed
    while (time.monotonic() < end if end else counts.programs < options.programs):
        yield seed
        seed += 1


def run_single(options, name, kind, seed, work, counts):
    counts.programs += 1
    try:
        source = kind.write(seed, work)
        kind.judge(seed, source)
        os.remove(source)
    except Skip as why:
        counts.skipped += 1
        if options.verbose:
            print(f"{name}: seed {seed}: skipped: {why}", flush=True)
    except Found as found:
        counts.findings += 1
        keep(options, name, seed, source, found, kind)


def run_batch(options, name, kind, seeds, work, counts):
    counts.programs += len(seeds)
    sources = {}
    for seed in seeds:
        try:
            sources[seed] = kind.write(seed, work)
        except Skip as why:
            kind.skipped += 1
            if options.verbose:
                print(f"{name}: seed {seed}: skipped: {why}", flush=True)
    for seed, found in kind.judge_all(sources).items():
        counts.findings += 1
        keep(options, name, seed, sources[seed], found, kind)
    counts.skipped = kind.skipped
    for source in sources.values():
        os.remove(source)


def run_kind(options, name, tools, work):
    counts = Counts()
    kind = kind_of(name).Kind(tools, work)
    waiting, last, said = [], options.seed - 1, time.monotonic()
    for last in batches(options, counts):
        if not hasattr(kind, "judge_all"):
            run_single(options, name, kind, last, work, counts)
        else:
            waiting.append(last)
            if len(waiting) >= kind.BATCH or counts.programs + len(waiting) == options.programs:
                run_batch(options, name, kind, waiting, work, counts)
                waiting = []
        if time.monotonic() - said > 30:
            said = time.monotonic()
            print(f"{name}: {counts.programs} programs so far, {counts.findings} findings", file=sys.stderr, flush=True)
    if waiting:
        run_batch(options, name, kind, waiting, work, counts)
    print(f"{name}: {counts.programs} programs ({counts.skipped} skipped), {counts.findings} findings, "
          f"seeds {options.seed}..{last}, {kind.rewrites} rewrites", flush=True)
    return counts


def run_file(options, name, tools, work):
    """The program of a file, as if it were that of the seed."""
    try:
        # Reduction works on copies; none may be changed here.
        kind_of(name).Kind(tools, work).judge(options.seed, os.path.abspath(options.file), reducing=bool(options.expect))
    except Skip as why:
        print(f"{name}: shows nothing: {why}")
        return 3
    except Found as found:
        print(f"{name}: {found}")
        if options.expect:
            return 0 if found.symptom == options.expect else 1
        return 1
    print(f"{name}: no finding")
    return 1 if options.expect else 0


def arguments():
    parser = argparse.ArgumentParser(prog="./dev fuzz", description="Random programs, before the passes against after.",
                                     epilog="kinds: " + "; ".join(f"{n}: {kind_of(n).SENTENCE}" for n in KINDS))
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("kind", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)} [all]")
    parser.add_argument("--minutes", type=float, metavar="N", help=f"time for all kinds together [{DEFAULT_MINUTES}]")
    parser.add_argument("--programs", type=int, metavar="N", help="programs of each kind, in place of --minutes")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the first program [1]")
    parser.add_argument("--file", help="judge this program as that of the seed")
    parser.add_argument("--no-reduce", dest="reduce", action="store_false", help="keep what fails as it is")
    parser.add_argument("--out", metavar="DIR", help="where findings are kept [BUILD/fuzz]")
    parser.add_argument("--plugin", help="another libvfriendly.so, to see it fail")
    parser.add_argument("--tidy", help="another libvfriendly-tidy.so")
    parser.add_argument("--malloc", help="another libvfmalloc.so")
    parser.add_argument("--tools", metavar="DIR", help="folder with other compilers, for the test of this")
    parser.add_argument("--verbose", action="store_true", help="say why programs show nothing")
    parser.add_argument("--expect", metavar="SYMPTOM", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    unknown = [k for k in options.kind if k not in KINDS]
    if unknown:
        parser.error(f"no kind '{unknown[0]}', there are: {', '.join(KINDS)}")
    if options.minutes is not None and options.programs is not None:
        parser.error("--minutes and --programs exclude each other")
    if (options.minutes or 0) < 0 or (options.programs or 0) < 0 or options.seed < 0:
        parser.error("--minutes, --programs and --seed must not be negative")
    if options.file and (len(options.kind) != 1 or not os.path.isfile(options.file)):
        parser.error("--file wants one kind, and a file")
    return options


def main():
    options = arguments()
    if not options.kind:
        options.kind = [k for k in KINDS if is_built(options.build, k)]
    options.out = os.path.abspath(options.out or os.path.join(options.build, "fuzz"))
    if options.programs is None:
        options.minutes = (DEFAULT_MINUTES if options.minutes is None else options.minutes) / len(options.kind)
    # The LLVM the plugin is for, whatever else is installed.
    first = [os.path.abspath(options.tools)] if options.tools else []
    os.environ["PATH"] = os.pathsep.join([*first, LLVM, os.environ["PATH"]])
    os.makedirs(options.out, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="work-", dir=options.out) as work:
        tools = Tools(options.build, work, options.plugin, options.tidy, options.malloc)
        if options.file:
            return run_file(options, options.kind[0], tools, work)
        every = [run_kind(options, name, tools, work) for name in options.kind]
    programs, findings = sum(c.programs for c in every), sum(c.findings for c in every)
    print(f"{programs} programs, {findings} findings")
    if findings:
        return 1
    return 3 if any(c.programs and c.skipped == c.programs for c in every) else 0


if __name__ == "__main__":
    sys.exit(main())
