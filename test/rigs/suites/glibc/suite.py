# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""glibc's own tests of its threads."""

import glibc_tests

SENTENCE = "glibc's tests of nptl and of C11 threads"
SMOKE = {"tst-mutex1", "tst-cond1", "tst-barrier1", "tst-sem1", "tst-mtx-basic", "tst-rwlock1"}
ELSEWHERE = {
    "tst-oddstacklimit": "is not run by itself",
    "tst-pthread-gdb-attach": "needs gdb and glibc's build tree",
    "tst-stack4": "needs hundreds of copies of its library",
}


def arguments(program):
    return {
        "tst-cancel7": ["--command", f"exec {program}"],
        "tst-cancelx7": ["--command", f"exec {program}"],
        "tst-exec4": [program],
        "tst-umask1": [program + ".temp"],
    }


def prepare(place, smoke):
    return glibc_tests.prepare(
        place, ("nptl", "sysdeps/pthread"), ELSEWHERE, SMOKE if smoke else None, arguments)
