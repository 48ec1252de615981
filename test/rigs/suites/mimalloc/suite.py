# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mimalloc's own tests, as far as they are of the standard's functions: see standard.c."""

import os
import re

import bring
from compare import FAIL, PASS, Job, Suite

SENTENCE = "mimalloc's tests of the standard's functions"
LIBRARIES = ("libvfmalloc",)
# Threads, load, rounds: mimalloc's own, and twice with more of one and less of another.
STRESS = (("32", "50", "10"), ("4", "200", "10"), ("64", "10", "50"))
LEFT_OUT = {
    "test-api-fill": "is about how mimalloc fills blocks to find errors",
    "test-wrong": "makes errors, for tools that find them",
    "main-override": "is of reallocarr, which libc has not",
}
# The names of two, and a line or none between them and how it ended.
LINE = re.compile(r"^test: (\S+?)\.\.\.\s+(ok\.|FAILED)", re.M)


def prepare(place, smoke):
    bring.need("gcc", "g++")
    source = place.debian.source(place.path("source"), "mimalloc")
    build = place.path("build")
    ours = os.path.join(place.source, "mimalloc", "standard.c")
    with bring.Once(build, open(__file__).read() + open(ours).read()) as todo:
        if todo:
            _build(build, os.path.join(source, "test"), os.path.join(source, "include"), ours)

    def job(name, program, *arguments, **options):
        return Job(name, [os.path.join(build, program), *arguments], timeout=300, **options)

    api = job("test-api", "test-api", results=lambda o: {
        **{f"test-api: {t}": PASS if how == "ok." else FAIL for t, how in LINE.findall(o.output)},
        # Its exit status counts those that fail.
        "test-api: (to its end)": PASS if "\nfailed   :" in o.output else FAIL})
    if smoke:
        return Suite([api])
    return Suite([api, job("main-override-cxx", "main-override-cxx"),
                  *(job(" ".join(("test-stress", *s)), "test-stress", *s) for s in STRESS)],
                 left_out=LEFT_OUT)


def _build(build, tests, include, ours):
    def compile_one(compiler, target, name, *flags):
        # -fno-builtin: or what nobody looks at is not allocated.
        bring.call([compiler, "-O2", "-w", "-fno-builtin", f"-I{include}", *flags,
                    os.path.join(tests, name), "-o", os.path.join(build, target), "-pthread"],
                   f"cannot build mimalloc's {name}")

    standard = os.path.join(build, "standard.o")
    bring.call(["gcc", "-O2", "-w", "-fno-builtin", "-D_GNU_SOURCE", f"-I{include}", "-c", ours,
                "-o", standard], "cannot build what its tests call")
    compile_one("gcc", "test-stress", "test-stress.c", "-DUSE_STD_MALLOC")
    compile_one("gcc", "test-api", "test-api.c", standard)
    compile_one("g++", "main-override-cxx", "main-override.cpp", "-std=c++17", standard)
