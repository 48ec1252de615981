# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPython's own tests of threads and of processes that fork, of the interpreter that
VF_TEST_PYTHON names, or of python3 if its tests are installed (libpython3-testsuite).
"""

import os
import re

import bring
from compare import FAIL, PASS, SKIP, Job, Suite

SENTENCE = "CPython's tests of threads, pools and fork; VF_TEST_PYTHON=INTERPRETER, or python3's"
MODULES = ("test_threading", "test_multiprocessing_fork", "test_concurrent_futures")
SMOKE = ("*BarrierTests*",)
# Before Python 3.11 the class alone is in brackets.
TEST = re.compile(r"^(\w+) \((test\.[\w.]+?)(?:\.\1)?\)", re.M)
ENDED = re.compile(r"\.\.\. (?:.*\n)*?.*?(ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b")
HOW = {"ok": PASS, "expected failure": PASS, "skipped": SKIP}


def prepare(place, smoke):
    python = os.environ.get("VF_TEST_PYTHON", "python3")
    # The interpreter itself: a wrapper would start it with its own environment.
    python = bring.call([python, "-c", "import sys, test.test_threading; print(sys.executable)"],
                        f"{python} has no tests of its own").strip()
    modules = MODULES[:1] if smoke else MODULES
    return Suite([_job(place, python, module, SMOKE if smoke else ()) for module in modules])


def _job(place, python, module, patterns):
    folder = place.path(module)
    os.makedirs(folder, exist_ok=True)
    chosen = [word for pattern in patterns for word in ("-k", pattern)]
    return Job(module, [python, "-m", "unittest", "-v", *chosen, f"test.{module}"], cwd=folder, timeout=900,
               results=lambda outcome: _results(module, outcome),
               narrowed=lambda tests: _job(place, python, module, [test for test in tests if test != module]))


def _results(module, outcome):
    """{test: status}. One that hangs or crashes has no result, and the module says why."""
    found = list(TEST.finditer(outcome.output))
    ends = [one.start() for one in found[1:]] + [len(outcome.output)]
    results = {}
    for one, end in zip(found, ends):
        ended = ENDED.search(outcome.output, one.end(), end)
        if ended:
            results.setdefault(f"{one.group(2)}.{one.group(1)}", HOW.get(ended.group(1), FAIL))
    # The exit status is 1 if a test failed, which is known then, or if none was found.
    return {**results, module: PASS if results and outcome.code in (0, 1) else outcome.status}
