# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs of rebuilt/ share whose source is a clone that a variable names, and tests of googletest."""

import os
import re

import bring

GTEST = re.compile(r"^\[ +(OK|FAILED) +\] (\S+?)(?:, where .*)? \(\d+ ms\)$", re.M)


def clone(variable, address, witness):
    """Returns the folder that variable names; witness is a file that it must have."""
    source = os.environ.get(variable, "")
    if not os.path.exists(os.path.join(source, witness)):
        raise bring.NotRun(f"{variable} does not name a clone of {address}")
    return os.path.abspath(source)


def compile_tests(folder, cc, cxx, sources, options, libraries):
    """Builds the program tests in folder from sources of C, C++ and assembly; returns what the compilers said."""
    said, objects = "", []
    for path in sources:
        objects.append(os.path.basename(path) + ".o")
        tool = [cc] if path.endswith((".c", ".S")) else [cxx, "-std=c++17"]
        said += bring.call(["sh", "-c", 'exec "$@" 2>&1', "sh", *tool, "-O2", "-w", "-pthread", *options, "-c", path,
                            "-o", objects[-1]], f"the build of {path}", cwd=folder)
    return said + bring.call(["sh", "-c", 'exec "$@" 2>&1', "sh", cxx, "-pthread", *objects, *libraries, "-o", "tests"],
                             "the link of its tests", cwd=folder)


def run_tests(folder, arguments, runs, seconds):
    """Returns {test: passed in all runs}; a run that does not end in time is a test that failed."""
    results = {}
    for run in range(1, runs + 1):
        said = bring.output(["timeout", str(seconds), "./tests", *arguments], timeout=2 * seconds, cwd=folder)
        with open(f"{folder}-tests-{run}.log", "w") as log:
            log.write(said)
        for ended, name in GTEST.findall(said):
            results[name] = results.get(name, True) and ended == "OK"
        results[f"run {run}, to its end"] = "[  PASSED  ]" in said and "FAILED" not in said
    return results
