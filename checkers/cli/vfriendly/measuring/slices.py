# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In which slices of time switches and wake-ups are looked at, so that this costs a program at most a given share.

All of them are looked at until that has cost WHOLE_S on a CPU or a share of the CPU time, whichever is more.
From then on only slices of LOOK_S are, each when there is budget for it. Each stands for the CPU time that the program
has had since the one before: in wall time it may be frozen, or wait for CPUs that others have, and a slice often
begins when both this tool and the program have just got one.
"""

from dataclasses import dataclass

# Share of the program's CPU time that looking may take, as the BPF programs measure themselves.
MOST_SHARE = 0.01
# How many times as much it takes with what they do not see, their calls and what they drive out of the caches.
UNSEEN = 1.5
# Seconds for each CPU before anything is left out, some 16,000 switches: programs with fewer are counted exactly. It is
# MOST_SHARE of 1 s; shorter programs may be slowed by more than that.
WHOLE_S = 0.01
# Share of a CPU that may always be taken: a server that mostly sleeps would lose exact counts for nothing.
IDLE_SHARE = 0.002
# Long enough for most blocks of a program that switches often, and short enough that one at 500,000 switches a second
# (5 ms) fits into the budget twice a second.
LOOK_S = 0.01
# Part by which what is expected of the next slice follows the last one: samples of the clock, of which a slice has
# some five a CPU, are too few for a slice alone.
FOLLOWS = 0.25
# The least CPU time that is expected in a slice, of a program that mostly sleeps: a tenth of a sample.
LEAST_S = 0.0002


@dataclass
class Cost:
    """What looking has cost, and what the program has used, until now."""

    switch_s: float = 0  # on all CPUs
    active: int = 0  # CPUs on which it has cost something
    cpu_s: float = 0  # the program's CPU time
    stands_for_s: float = 0  # of that, what the slices stand for: the CPU time in each, times its weight


class Slices:
    def __init__(self) -> None:
        self.whole = True  # nothing was left out yet
        self.seen_s = 0.0  # wall time that was looked at
        self._look_cpu_s = LOOK_S  # CPU time that is expected in a slice
        self._look_cost_s = 0.0
        self._looking_s = 0.0  # what looking has taken in slices, times their weights
        self._before = Cost()
        self._weight = 1

    @staticmethod
    def most_s(cost: Cost, now_s: float) -> float:
        """Returns what looking may cost on each CPU until now, seconds after the beginning."""
        return max(WHOLE_S, IDLE_SHARE * now_s, MOST_SHARE * cost.cpu_s / max(cost.active, 1))

    def _own_s(self, cost: Cost) -> tuple[float, float]:
        """Returns the CPU time that the program has had and what the slices stand for.

        Both are without what looking took: a switch that is looked at takes some half as long again."""
        return cost.cpu_s - UNSEEN * cost.switch_s, cost.stands_for_s - self._looking_s

    def end_whole(self, cost: Cost, seen_s: float) -> None:
        """All was looked at for this time, and from now on no more."""
        self.whole = False
        self.seen_s = seen_s
        self._looking_s = UNSEEN * cost.switch_s
        self._look_cpu_s = max(LEAST_S, self._own_s(cost)[1] * LOOK_S / max(seen_s, LOOK_S))
        self._look_cost_s = cost.switch_s * LOOK_S / max(seen_s, LOOK_S)

    def look(self, cost: Cost, now_s: float) -> int:
        """Returns for how many slices one that begins now stands, or 0 if the budget does not hold another one."""
        if cost.switch_s + self._look_cost_s > self.most_s(cost, now_s) * max(cost.active, 1):
            return 0
        self._before = cost
        own_s, stands_for_s = self._own_s(cost)
        self._weight = max(1, round((own_s - stands_for_s) / self._look_cpu_s) + 1)
        return self._weight

    def looked(self, cost: Cost, seconds: float) -> None:
        """A slice has ended, which may have been shorter than LOOK_S."""
        self.seen_s += seconds
        self._look_cost_s = cost.switch_s - self._before.switch_s
        looking_s = UNSEEN * self._look_cost_s
        self._looking_s += self._weight * looking_s
        cpu_s = (cost.stands_for_s - self._before.stands_for_s) / self._weight - looking_s
        self._look_cpu_s = max(LEAST_S, self._look_cpu_s + FOLLOWS * (cpu_s - self._look_cpu_s))

    def missing(self, cost: Cost) -> float:
        """Returns by what counts are to be multiplied to stand for all of the CPU time until now."""
        own_s, stands_for_s = self._own_s(cost)
        return own_s / stands_for_s if not self.whole and stands_for_s > 0 else 1.0
