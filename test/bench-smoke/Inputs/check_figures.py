# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds stay bounds: what a timeout leaves open is never a met target."""

import os
import sys

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "test/rigs/bench"), os.path.join(root, "test/rigs/bench/spin-loops")]

import measure  # noqa: E402
import verdicts  # noqa: E402
from measure import Figure  # noqa: E402


def run(microseconds, timeout=False):
    values = {"rounds": 1, "ns": microseconds * 1000}
    return measure.Run("timeout" if timeout else "ok", microseconds / 1e6, 0, "", "", values)


def cell(**microseconds):
    return {name.replace("_", "-"): [run(t)] * 21 for name, t in microseconds.items()}


def verdict(kind, times, runs):
    return verdicts.judge(kind, times, runs)[1]


# A lower bound can meet "at least" and miss "at most"; nothing else.
assert Figure(60, ">").at_least(50) is True
assert Figure(40, ">").at_least(50) is None
assert Figure(1.0, ">").at_most(1.2) is None
assert Figure(1.3, ">").at_most(1.2) is False
assert Figure(1.0, "<").at_most(1.2) is True
assert measure.pair_ratios([run(4, True)], [run(2, True)],
                           verdicts.programs.per_round)[0].sign == "?"
# Over an upper bound, such as the rate of a server that was killed, a ratio is a lower bound.
assert measure.pair_ratios([4], [2], lambda r: Figure(r, "<" if r == 2 else ""))[0].sign == ">"
assert Figure(60, "?").at_least(50) is None

fast = dict(original=1000, rewritten=10, no_notify=1000, futex=10)
assert verdict("flag-atomic", 4, cell(**fast)) == "ok"
assert "short: speedup 40.0" in verdict("flag-atomic", 4, cell(**{**fast, "original": 400}))
assert "short: over peer 2.00" in verdict("flag-atomic", 4, cell(**{**fast, "futex": 5}))
assert "short: no-notify 1.20" in verdict("flag-atomic", 4, cell(**{**fast, "no_notify": 1200}))
# A pthread mutex keeps no order, so it sets no bound for a fair lock.
assert verdict("lock-ticket", 4, cell(**fast, pthread=1)) == "ok"
assert "over peer" in verdict("lock-tas", 4, cell(**fast, pthread=1))
# The original never ended: enough for the speedup.
hung = {**cell(**fast), "original": [run(1000, True)] * 5}
assert verdict("flag-atomic", 4, hung) == "ok"
# The rewritten one never ended: never ok.
hung = {**cell(**fast), "rewritten": [run(10, True)] * 5}
assert verdict("flag-atomic", 4, hung) != "ok"
# With a CPU for each thread: 0.95 of the original's speed, by enough pairs.
even = dict(original=10, rewritten=10, no_notify=10)
assert verdict("flag-atomic", 1, cell(**even)) == "ok"
assert "short: speed 0.91" in verdict("flag-atomic", 1, cell(**{**even, "rewritten": 11}))
few = {name: runs[:20] for name, runs in cell(**even).items()}
assert verdict("flag-atomic", 1, few) == "unknown: fewer than 21 pairs"
# A bounded spin: 0.8 of the best by hand from 4 threads a CPU on, no speedup asked.
slower = cell(**{**fast, "original": 20, "no_notify": 20, "futex": 8.1})
assert verdict("flag-bounded-4000", 4, slower) == "ok"
slower = cell(**{**fast, "original": 20, "no_notify": 20, "futex": 7.9})
assert "short: over peer 1.27" in verdict("flag-bounded-4000", 4, slower)
assert verdict("flag-bounded-4000", 2, slower) == "ok"
# Giving up takes as long as it did, neither less nor more.
assert verdict("giveup-bounded-100", 1, cell(original=100, rewritten=109)) == "ok"
assert "gives up late 1.11" in verdict("giveup-bounded-100", 1, cell(original=100, rewritten=111))
assert "gives up early 0.89" in verdict("giveup-bounded-100", 1, cell(original=100, rewritten=89))
assert "unknown" in verdict("giveup-bounded-100", 1, cell(original=100))
# Five runs show nothing; of fifteen, three on each side may be outside.
assert measure.median_interval([1, 2, 3, 4, 5]) is None and measure.median_interval([]) is None
assert measure.median_interval([6, 5, 4, 3, 2, 1]) == (1, 6)
assert measure.median_interval(range(15)) == (3, 11)
print("figures: ok")
