# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Repetitions in guests that break off, without any guest."""

import os
import sys

root = sys.argv[1]
bench = os.path.join(root, "test", "rigs", "bench")
sys.path[:0] = [bench, os.path.join(bench, "blocking-sync-guest")]

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

print("guests: ok")
