# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenBLAS: double precision without LAPACK, its server of threads as Debian builds it."""

import os
import re
import shutil

import bring

SENTENCE = "OpenBLAS: utest, ctest and test of double precision with 1, 2, 4 and 8 threads"
THREADS = (1, 2, 4, 8)
OPTIONS = ("HOSTCC=cc", "FC=gfortran", "NO_LAPACK=1", "NO_SHARED=1", "BUILD_SINGLE=0", "BUILD_DOUBLE=1",
           "BUILD_COMPLEX=0", "BUILD_COMPLEX16=0", "TARGET=HASWELL", "NUM_THREADS=8", "USE_THREAD=1", "NO_AFFINITY=1", "DYNAMIC_ARCH=0")
# Folder -> its programs; a program of the reference BLAS reads its cases from the file.
PROGRAMS = {
    "utest": {"openblas_utest": None},
    "ctest": {"xdcblat1": None, "xdcblat2": "din2", "xdcblat3": "din3"},
    "test": {"dblat1": None, "dblat2": "dblat2.dat", "dblat3": "dblat3.dat"},
}
# The three ways in which they say that one test passed or failed.
UTEST = re.compile(r"^TEST \d+/\d+ (\S+) \[(\w+)\]", re.M)
PASSED = re.compile(r"^ *(?:\S+ )*?(\w+) +PASSED THE (?:\w+-MAJOR +)?(?:COMPUTATIONAL TESTS|TESTS OF ERROR-EXITS)", re.M)
LEVEL1 = re.compile(r"Test of subprogram number +(\d+) +(\S+)\s+-----\s(PASS|FAIL)", re.M | re.I)
# A program that polls with 8 threads on 2 CPUs takes minutes.
SECONDS = 150


def prepare(place):
    bring.need("gfortran")
    return place.debian.source(place.path("source"), "openblas")


def _make(folder, cc, *what):
    return bring.call(["sh", "-c", 'exec 2>&1; exec make -s "$@"', "make", *OPTIONS, f"CC={cc}", *what],
                      f"OpenBLAS' make {what[-1]}", cwd=folder)


def build(source, folder, cc, _):
    shutil.copytree(source, folder, dirs_exist_ok=True, symlinks=True)
    said = _make(folder, cc, "-j2", "libs")
    for tests, programs in PROGRAMS.items():
        said += _make(os.path.join(folder, tests), cc, f"-j{2 if tests != 'utest' else 1}", *programs)
    return said


def test(_, folder):
    results = {}
    for threads in THREADS:
        for tests, programs in PROGRAMS.items():
            for program, cases in programs.items():
                place = os.path.join(folder, tests)
                said = bring.output(["sh", "-c", f"exec ./{program} {f'< {cases}' if cases else ''}"], timeout=SECONDS,
                                    cwd=place, env={**os.environ, "OPENBLAS_NUM_THREADS": str(threads)})
                summary = os.path.join(place, program.upper() + ".SUMM")
                if os.path.exists(summary):
                    with open(summary) as file:
                        said += file.read()
                    os.remove(summary)
                with open(os.path.join(folder, f"{program}-{threads}.log"), "w") as log:
                    log.write(said)
                results.update({f"{program} {name}, {threads} threads": ok for name, ok in read(said).items()})
    return results


def read(said):
    """Returns {test: passed}, by what a program has said."""
    results = {name: ok == "OK" for name, ok in UTEST.findall(said)}
    for number, name, ok in LEVEL1.findall(said):
        results[f"{number} {name}"] = ok == "PASS"
    for name in PASSED.findall(said):
        results[name] = "FAIL" not in said
    return results
