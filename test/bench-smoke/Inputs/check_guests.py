# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repetitions in guests that break off, without any guest."""

import os
import sys

root = sys.argv[1]
bench = os.path.join(root, "test", "rigs", "bench")
sys.path[:0] = [bench, os.path.join(bench, "blocking-sync-guest"), os.path.join(bench, "gleaner")]

import guests  # noqa: E402
import run_bench  # noqa: E402
from guest import TRIES, Broken  # noqa: E402
from measure import Progress  # noqa: E402
from workload import Workload  # noqa: E402

WORK = Workload(["vf-mutex", "pthread"], [1, 2], [0], [0], [0], 1)


class Rig(run_bench.Rig):
    """Its guests do what they are told: a number of runs, or break off."""

    def __init__(self, guests):
        self.guests, self.broke, self.steps = iter(guests), [], []
        self.progress = Progress("check_guests")

    def nested(self, work, cpus, steps, at):
        self.steps.append(steps)
        runs = next(self.guests)
        if isinstance(runs, str):
            raise Broken(runs)
        return [{"steps_per_ns": steps or 0.5}] + [{"ops_per_s": n, "ops": n + 1} for n in range(runs)]


whole = WORK.runs()
rig = Rig([whole, "a crash", whole - 1, whole])
cells, steps = rig.repeat("nested", WORK, 2, reps=2)
assert steps == 0.5 and rig.steps == [None, 0.5, 0.5, 0.5], rig.steps
assert [[r.values["ops"] for r in cells[2, 0, 0, 0][lock]] for lock in WORK.locks] == [[3, 3], [4, 4]]
assert rig.broke == ["nested, 2 vCPUs, repetition 2 of 2: a crash",
                     "nested, 2 vCPUs, repetition 2 of 2: the guest did 3 runs of 4"], rig.broke

rig = Rig([whole] + ["a crash"] * TRIES)
try:
    rig.repeat("nested", WORK, 2, reps=2)
    raise AssertionError("three in a row went unnoticed")
except Broken as error:
    assert str(error) == "a crash" and len(rig.broke) == TRIES



class Cells(guests.Rig):
    """Its boots give so many results, which begin with the first cell that is left, or break off after them."""

    def __init__(self, boots):
        self.boots = iter(boots)

    def boot(self, cpus, script, heard, **outer):
        given, breaks = next(self.boots)
        for n in range(given):
            heard((script, n))
        if breaks:
            raise Broken("a crash of many")


def of_cells(*boots):
    """Returns the results of three cells, of two each, and the cells that broke off each time."""
    found = {}
    lost = Cells(boots).run_cells(4, ("a", "b", "c"), "".join, 2, found.__setitem__)
    return found, lost


# The second cell's first result is of a boot that broke off; both come from the next.
found, lost = of_cells((3, True), (4, False))
assert found == {"a": [("abc", 0), ("abc", 1)], "b": [("bc", 0), ("bc", 1)], "c": [("bc", 2), ("bc", 3)]}, found
assert not lost
# A crash after the last result costs nothing.
assert of_cells((6, True))[1] == []
# What breaks off each time is left out, and the others get their own tries.
found, lost = of_cells((2, True), (1, True), (0, True), (0, True), (1, True), (2, False))
assert sorted(found) == ["a", "c"] and lost == ["b"], (found, lost)

print("guests: ok")
