# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""pthreadpool with futexes, as it is built on Linux, with Debian's googletest and FXdiv."""

import clones

SENTENCE = "pthreadpool: its unit tests; VF_TEST_PTHREADPOOL=FOLDER, a clone of github.com/Maratyszcza/pthreadpool"
OPTIONS = [f"-DPTHREADPOOL_USE_{name}={value}" for name, value in
           (("FUTEX", 1), ("CONDVAR", 0), ("CPUINFO", 0), ("GCD", 0), ("EVENT", 0))]


def prepare(_):
    return clones.clone("VF_TEST_PTHREADPOOL", "pthreadpool's repository", "src/pthreads.c")


def build(source, folder, cc, cxx):
    sources = [f"{source}/src/{name}.c" for name in ("fastpath", "legacy-api", "memory", "portable-api", "pthreads")]
    return clones.compile_tests(folder, cc, cxx, [*sources, f"{source}/test/pthreadpool.cc"],
                                [*OPTIONS, f"-I{source}/include", f"-I{source}/src"], ["-lgtest", "-lgtest_main"])


def test(_, folder):
    return clones.run_tests(folder, [], runs=1, seconds=280)
