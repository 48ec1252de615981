#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds one program with the plugin in every way and runs each build.

  run.py SOURCE --lib DIR --out DIR [--tsan clean|race] [--kept]

Levels: -O1 -O2 -O3 -Os, ThinLTO and full LTO by lld. Each runs with libvfrt,
with libvfrt and notifies off, and without libvfrt; with 2, 4 and 8 threads. A
short test run takes one level or kind of LTO and 4 threads: some fifty programs,
each with another one, cover all of them. All have debug information, which must be valid.
Each build must hold a rewritten wait, unless --kept: a test of a program nobody
changed shows nothing.
"""

import argparse
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from short_run import is_full, slice_of

LEVELS = ["-O1", "-O2", "-O3", "-Os", "-O2 -flto=thin", "-O2 -flto"]
THREADS = ["2", "4", "8"] if is_full() else ["4"]


class Failure(Exception):
    pass


def call(command, **kwargs):
    try:
        done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    except subprocess.TimeoutExpired:
        raise Failure(f"hangs (over {kwargs['timeout']} s): {' '.join(command)}")
    return done.returncode, done.stdout + done.stderr


def check(command, **kwargs):
    status, text = call(command, **kwargs)
    if status:
        raise Failure(f"status {status}: {' '.join(command)}\n{text}")
    return text


def compiler(args, level):
    cxx = args.source.endswith(".cpp")
    command = ["clang++" if cxx else "clang", "-std=c++20" if cxx else "-std=gnu11"]
    inputs = os.path.dirname(os.path.abspath(__file__))
    # Also where no lit.cfg.py asks clang to verify.
    command += [f"-I{inputs}", f"-fpass-plugin={args.lib}/libvfriendly.so", "-g", "-fverify-intermediate-code"]
    return command + level.split()


def compile_source(args, level):
    """One object for the programs with and without libvfrt, which differ in their link alone."""
    name = os.path.join(args.out, "".join(c for c in level if c.isalnum()) + ".o")
    check(compiler(args, level) + [args.source, "-c", "-o", name])
    return name


def link(args, level, name, runtime):
    program = name.removesuffix(".o") + ("-rt" if runtime else "")
    command = compiler(args, level) + [name, "-o", program, "-lpthread"]
    if "-flto" in level:
        command += ["-fuse-ld=lld", f"-Wl,--load-pass-plugin={args.lib}/libvfriendly.so"]
    if runtime:
        command += [f"-L{args.lib}", f"-Wl,-rpath,{args.lib}", "-Wl,--no-as-needed", "-lvfrt"]
    check(command)
    # GNU ld merges strings in a way to which the verifier objects.
    check(["llvm-dwarfdump", "--verify", "--quiet", program if "-flto" in level else name])
    symbols = check(["llvm-nm", program])
    waits = ("vf_spin_wait_or_fallback", "vf_spin_wait_bounded_or_fallback")
    if not args.kept and not any(wait in symbols for wait in waits):
        raise Failure(f"{level}: no wait was rewritten: this run would show nothing")
    return program


def run(args, program, **environment):
    for threads in THREADS:
        check([program, threads], timeout=args.timeout, env={**os.environ, **environment})


def run_with_runtime(args, level, name):
    program = link(args, level, name, runtime=True)
    run(args, program)
    run(args, program, VF_SPIN_NOTIFY="off")


def run_tsan(args):
    # As written, ThreadSanitizer sees what it always sees.
    program = os.path.join(args.out, "tsan")
    check(compiler(args, "-O1 -fsanitize=thread") + [args.source, "-o", program, "-lpthread"])
    status, text = call([program, "2"], timeout=args.timeout)
    race = "WARNING: ThreadSanitizer: data race" in text
    if args.tsan == "clean" and (status or race):
        raise Failure(f"ThreadSanitizer is not content, status {status}:\n{text[:4000]}")
    if args.tsan == "race" and not race:
        raise Failure(f"ThreadSanitizer reports no race, status {status}:\n{text[:4000]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("--lib", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tsan", choices=["clean", "race"])
    parser.add_argument("--kept", action="store_true")
    # A correct run takes well under a second; 60 is a hang even on a busy machine.
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--levels", nargs="+")
    args = parser.parse_args()
    name = os.path.basename(args.source)
    levels = args.levels or slice_of(LEVELS, len(LEVELS), name)
    os.makedirs(args.out, exist_ok=True)
    failures = []

    def attempt(what, action):
        try:
            action()
        except Failure as failure:
            failures.append(f"{what}: {failure}")

    for level in levels:
        try:
            name = compile_source(args, level)
        except Failure as failure:
            failures.append(f"{level}: {failure}")
            continue
        attempt(level, lambda: run(args, link(args, level, name, runtime=False)))
        attempt(level, lambda: run_with_runtime(args, level, name))
    # Debian's archive has ThreadSanitizer's runtime only for the machine that compiles.
    if args.tsan and "VF_TEST_TARGET" not in os.environ:
        attempt("ThreadSanitizer", lambda: run_tsan(args))
    if failures:
        sys.exit("\n".join(failures))
    print(f"{', '.join(levels)}: {len(THREADS)} x 3 runs each, every payload arrived")


if __name__ == "__main__":
    main()
