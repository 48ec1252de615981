#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs benchmarks: run.py BUILD [NAME] [--smoke] [options of NAME].

A benchmark is a folder beside this file with a run_bench.py, which has
  SENTENCE            what it measures
  ALONE               whether a plain `./dev bench` runs it too
  options(parser)     adds its own options
  main(tree, options, out) -> exit status

It exits 0 whatever the speed, 1 if something measured was wrong or could not be
built, and 2 on a usage error. --smoke takes the smallest sizes once: it proves
that the benchmark builds and finishes, and its times mean nothing.
"""

import argparse
import importlib.util
import os
import sys

import bench

HERE = os.path.dirname(os.path.abspath(__file__))


def names():
    return sorted(
        e for e in os.listdir(HERE) if os.path.exists(os.path.join(HERE, e, "run_bench.py"))
    )


def load(name):
    folder = os.path.join(HERE, name)
    sys.path.insert(0, folder)  # a benchmark may have more files of its own
    path = os.path.join(folder, "run_bench.py")
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(build, name, arguments):
    module = load(name)
    parser = argparse.ArgumentParser(prog=f"./dev bench {name}", description=module.SENTENCE)
    parser.add_argument("--smoke", action="store_true", help="smallest sizes, once, no verdicts")
    parser.add_argument("--out", metavar="DIR", help="where to write NAME.json [BUILD/bench]")
    module.options(parser)
    options = parser.parse_args(arguments)
    try:
        tree = bench.Tree(build)
        out = os.path.abspath(options.out or os.path.join(tree.build, "bench"))
        return module.main(tree, options, out)
    except bench.Broken as error:
        print(f"bench {name}: {error}", file=sys.stderr)
        return 2 if isinstance(error, bench.Usage) else 1


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, arguments = sys.argv[1], sys.argv[2:]
    if not arguments or arguments == ["--smoke"]:
        alone = [n for n in names() if load(n).ALONE]
        worst = 0
        for name in alone:
            print(f"== {name}", flush=True)
            worst = max(worst, run(build, name, arguments))
        return worst
    if arguments[0] in ("-h", "--help"):
        print("usage: ./dev bench [NAME] [OPTIONS]\n")
        for name in names():
            print(f"  {name:20}{'*' if load(name).ALONE else ' '} {load(name).SENTENCE}")
        print("\nWithout NAME those with * run. ./dev bench NAME --help prints the options of one.")
        return 0
    if arguments[0] not in names():
        print(f"bench: no benchmark '{arguments[0]}', there are: {', '.join(names())}", file=sys.stderr)
        return 2
    return run(build, arguments[0], arguments[1:])


if __name__ == "__main__":
    bench.exit_with(main)
