# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""marl, a pool whose tasks are fibers, with Debian's googletest."""

import glob

import clones

SENTENCE = "marl: its unit tests, three runs; VF_TEST_MARL=FOLDER, a clone of github.com/google/marl"
SOURCES = ("debug.cpp", "memory.cpp", "scheduler.cpp", "thread.cpp", "trace.cpp", "osfiber_x64.c", "osfiber_asm_x64.S")


def prepare(_):
    return clones.clone("VF_TEST_MARL", "marl's repository", "src/scheduler.cpp")


def build(source, folder, cc, cxx):
    sources = [f"{source}/src/{name}" for name in SOURCES] + sorted(glob.glob(f"{source}/src/*_test.cpp"))
    return clones.compile_tests(folder, cc, cxx, sources, [f"-I{source}/include"], ["-lgmock", "-lgtest"])


def test(_, folder):
    return clones.run_tests(folder, [], runs=3, seconds=240)
