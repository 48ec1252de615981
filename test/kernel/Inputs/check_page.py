# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of /dev/vcpu_state against traces of scheduling that are made up here."""

import os
import sys

root, = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "test", "rigs", "kernel", "pv-shootdown")]

import page  # noqa: E402

MS = 1_000_000  # ticks of the counter
OFFSET = 2**64 - 50 * MS  # L2's counter is that much behind
TRACE = [
    "overrun: 0",
    *(f"offset vcpu={vcpu} prev=0 next={OFFSET}" for vcpu in (0, 1, 2)),
    f"switch {100 * MS} idle S vcpu1",
    f"switch {200 * MS} vcpu1 R+ vcpu2",  # preempted
    f"switch {300 * MS} vcpu2 S vcpu1",  # halted
    f"switch {400 * MS} vcpu1 S idle",
    f"switch {500 * MS} idle S vcpu2",
]


def saw(at_ms, seen, took_ms=0.001):
    return f"saw 0 {int((at_ms - 50) * MS):x} {int(took_ms * MS):x} {seen:x}"


def test(what, lines, **wanted):
    found = page.compare([*TRACE, *lines], 3, MS)
    for key, value in wanted.items():
        if found[key] != value:
            sys.exit(f"{what}: {key} is {found[key]}, not {value}")


FAR, NEAR = False, True
test("a vCPU that is preempted, and one that runs", [saw(250, 0b010)],
     counts={(FAR, True, True): 1, (FAR, False, False): 1})
test("the other one is said to be preempted", [saw(250, 0b100)],
     counts={(FAR, True, False): 1, (FAR, False, True): 1})
test("a vCPU that is halted is not preempted", [saw(350, 0)], counts={(FAR, False, False): 2})
test("near a switch of one", [saw(200.05, 0)], counts={(NEAR, True, False): 1, (NEAR, False, False): 1})
test("a look that took long", [saw(250, 0, took_ms=0.03)], counts={}, slow_looks=1)
test("before the first switch of one", [saw(150, 0)], counts={(FAR, False, False): 1}, unknown=1)
test("after the last of one", [saw(450, 0)], counts={(FAR, False, False): 1}, unknown=1)
test("events were lost", ["overrun: 7"], lost=7)
near = page.agreement({(FAR, True, True): 5, (FAR, True, False): 2, (FAR, False, False): 3, (NEAR, True, True): 1}, False)
assert near == (10, 8, 7), near
