# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""glibc's own tests of malloc and its kin."""

import glibc_tests

SENTENCE = "glibc's tests of malloc"
LIBRARIES = ("libvfmalloc",)
SMOKE = {"tst-calloc", "tst-malloc", "tst-memalign", "tst-realloc", "tst-malloc-thread-exit"}
INSIDES = "is about the insides of glibc's malloc"
NOTICES = "expects that glibc's malloc notices a misuse"
INTERPOSES = "is linked with a malloc of its own by glibc's build tree"
ELSEWHERE = {
    "tst-compathooks-off": "needs glibc's build tree",
    "tst-compathooks-on": "needs glibc's build tree",
    # jemalloc, mimalloc and tcmalloc by themselves fail as well.
    "tst-dynarray-fail": "leaves 2 MiB of address space, in which no malloc but glibc's starts",
    "tst-interpose-nothread": INTERPOSES,
    "tst-interpose-skeleton": INTERPOSES,
    "tst-interpose-static-nothread": INTERPOSES,
    "tst-interpose-static-thread": INTERPOSES,
    "tst-interpose-thread": INTERPOSES,
    "tst-malloc-backtrace": NOTICES,
    "tst-malloc-check": "is run with glibc's own debugging library",
    # Before the list of open files is locked, fork runs the handlers of any malloc but its own:
    # jemalloc by itself hangs as well.
    "tst-malloc-fork-deadlock": "no malloc but glibc's own can be right in it",
    # guidelines/heap-churn.md says so, and POSIX.1-2024 lets no handler fork.
    "tst-mallocfork2": "a signal handler forks while it interrupts malloc: a limit of libvfmalloc's",
    "tst-malloc-tcache-leak": INSIDES,
    "tst-safe-linking": INSIDES,
    "tst-malloc-usable": "is run with glibc's own debugging library",
    "tst-malloc-usable-tunables": "is run with glibc's own debugging library",
    "tst-mallocstate": INSIDES,
    "tst-tcfree1": NOTICES,
    "tst-tcfree2": NOTICES,
    "tst-mtrace": "is run by a script of glibc's build tree",
}


def prepare(place, smoke):
    return glibc_tests.prepare(
        place, ("malloc",), ELSEWHERE, SMOKE if smoke else None, lambda program: {})
