# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jemalloc's own tests, as far as they are of the standard's functions: see runner.c."""

import os
import re

import bring
from compare import CRASH, FAIL, PASS, SKIP, Job, Suite

SENTENCE = "jemalloc's tests of the standard's functions"
LIBRARIES = ("libvfmalloc",)
TESTS = ("integration/aligned_alloc.c", "integration/cpp/basic.cpp", "integration/malloc.c",
         "integration/overflow.c", "integration/posix_memalign.c")
LINE = re.compile(r"^(test_\w+): (pass|skip|fail)$", re.M)
HOW = {"pass": PASS, "skip": SKIP, "fail": FAIL}


def prepare(place, smoke):
    bring.need("gcc", "g++")
    source = place.debian.source(place.path("source"), "jemalloc")
    build = place.path("build")
    ours = os.path.join(place.source, "jemalloc")
    texts = [open(os.path.join(ours, f)).read() for f in (
        "suite.py", "runner.c", "test/jemalloc_test.h")]
    with bring.Once(build, "".join(texts)) as todo:
        if todo:
            _build(build, os.path.join(source, "test"), ours)
    return Suite([_job(build, test) for test in (TESTS[:1] if smoke else TESTS)])


def _program(build, test):
    return os.path.join(build, os.path.basename(test).split(".")[0])


def _build(build, tests, ours):
    # -fno-builtin: or what nobody looks at is not allocated. test.h is found beside src.
    flags = ["-O2", "-w", "-fno-builtin", "-fpermissive", f"-I{ours}", f"-I{tests}/src", "-pthread"]
    runner = os.path.join(build, "runner.o")
    bring.call(["gcc", *flags, "-c", os.path.join(ours, "runner.c"), "-o", runner],
               "cannot build what its tests are linked with")
    for test in TESTS:
        bring.call(["g++" if test.endswith("pp") else "gcc", *flags, os.path.join(tests, test), runner,
                    "-o", _program(build, test)], f"cannot build jemalloc's {test}")


def _job(build, test):
    def results(outcome):
        found = {f"{test}: {t}": HOW[how] for t, how in LINE.findall(outcome.output)}
        return {**found, f"{test}: (to its end)": outcome.status if outcome.status in (
            CRASH, PASS, FAIL) and found else FAIL}

    return Job(test, [_program(build, test)], timeout=300, results=results)
