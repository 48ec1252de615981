# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the check of locks makes of results that are made up here."""

import os
import sys
from types import SimpleNamespace

root, = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "test", "rigs", "kernel", "pv-shootdown")]

import locks  # noqa: E402


def verdicts(host_cpus, used, ignored=1000, sections=10_000, together=0):
    """Of the first number of vCPUs: whether it is right, and how the text begins."""
    def run(title, vcpus, script, expected, longest):
        spins = {"used": used, "ignored": ignored, "absent": 0}
        return SimpleNamespace(results=[
            {"variant": v, "seconds": 1, "sections": sections, "alone": sections - together, "saw_preempted": spins[v]}
            for v in locks.VARIANTS])

    rig = SimpleNamespace(host_cpus=host_cpus, run=run, compile_with_runtime=lambda *_: None)
    found = [(right, text.split(",")[0]) for right, text, _ in locks.check_locks(rig, SimpleNamespace(seconds=1))]
    return found[0]


def test(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, not {wanted}")


VIRTUAL, REAL = 1, 2
test("the hint works", verdicts(VIRTUAL, used=100), (True, "met"))
test("it works less than wanted, which is an aim", verdicts(VIRTUAL, used=300), (True, "missed"))
test("it has no effect", verdicts(VIRTUAL, used=1000), (False, "missed"))
test("it was never seen", verdicts(VIRTUAL, used=0, ignored=0), (False, "missed"))
test("chance alone can do that on a real clock", verdicts(REAL, used=1000), (True, "missed"))
test("two threads were in a section", verdicts(REAL, used=100, together=1), (False, "met"))
test("nobody got the mutex", verdicts(VIRTUAL, used=100, sections=0), (False, "met"))
