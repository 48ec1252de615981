#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every kind of rewritten wait with far more threads than CPUs: soak.py BUILD OUT [KIND...].

Each run checks all payloads. Only rewritten programs run: the loops as written
would take minutes here. A program without a rewritten wait is an error, since
it would show nothing about the rewrite.
"""

import argparse
import os
import sys

TESTS = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
BENCH = os.path.join(TESTS, "rigs", "bench")
sys.path[:0] = [BENCH, os.path.join(BENCH, "spin-loops"), os.path.join(TESTS, "Inputs")]

import bench  # noqa: E402
import programs  # noqa: E402
from short_run import slice_of  # noqa: E402

THREADS, ROUNDS = 64, 200
# Far above what a run takes, about a second on a busy machine: a wait that never ends is
# reported after it.
TIMEOUT_S = 100
# Locks: the holder sleeps in one of this many critical sections, so that all others wait for it
# again and again: 210 times a run, for 0.5 ms each. A prime, or with 64 threads it would always
# be the same holder.
HOLDER_SLEEPS = "-DHOLDER_SLEEPS_EVERY=61"
# Notifies off leaves every wait to its timeout; the fallback is what remains when the runtime is
# not linked.
VARIANTS = ("rewritten", "no-notify", "rewritten-alone")


def soak(tree, kind, out, descriptor):
    for name in VARIANTS:
        variant = programs.VARIANTS[name]
        program = programs.compile_program(tree, kind, variant, out, (HOLDER_SLEEPS,), descriptor)
        if not programs.rewritten_waits(tree, program):
            raise bench.Broken(f"{program}: the plugin rewrote no wait")
        if programs.run(program, THREADS, ROUNDS, TIMEOUT_S, variant.environment).status != "ok":
            raise bench.Broken(f"{program}, {name}: not done after {TIMEOUT_S} s")
    print(f"{kind}: all payloads of {THREADS} threads x {ROUNDS} arrived, {', '.join(VARIANTS)}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("out")
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--descriptor", help="this header in place of the kind's")
    args = parser.parse_args()
    tree = bench.Tree(args.build)
    try:
        for kind in args.kinds or slice_of(programs.kinds(), 3):
            soak(tree, kind, args.out, args.descriptor)
    except bench.Broken as error:
        sys.exit(f"soak: {error}")


if __name__ == "__main__":
    main()
