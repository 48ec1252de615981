# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Confidence intervals for ratios of paired runs, by a bootstrap.

The runs of a round are made one after the other, so that a drift of the machine's speed is in both
values of a pair and not in their ratio. The estimate is the geometric mean of these ratios.
"""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 4000
# Fewer pairs have no interval: resamples of two pairs have only three different means.
LEAST_PAIRS = 3
# Means of so few values cannot be further out than the most extreme value: of 5 equal pairs, the
# bootstrap alone finds a difference in 12 %. Student's interval is used where it is wider.
FEW_PAIRS = 8


@dataclass(frozen=True)
class Interval:
    estimate: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Returns True if the interval does not contain 1."""
        return self.low > 1 or self.high < 1

    def text(self) -> str:
        if self.low == 0:
            return f"{_short(self.estimate)} [?]"
        return f"{_short(self.estimate)} [{_short(self.low)}, {_short(self.high)}]"


def _short(value: float) -> str:
    """Returns three significant digits, and at most three decimals."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.{2 if value < 9.995 else 1}f}"


def student(level: float, freedom: int) -> float:
    """Returns the two-sided quantile of Student's t, by the expansion of Cornish and Fisher.

    Its error is below 4 % for three or more pairs.
    """
    z = statistics.NormalDist().inv_cdf(0.5 + level / 2)
    return (z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3))


def of_share(some: float, all_: float) -> tuple[float, float]:
    """Returns the 95 % interval of a share of which a number of samples was seen (Wilson 1927)."""
    if all_ <= 0:
        return (0.0, 1.0)
    z, share = statistics.NormalDist().inv_cdf(0.975), min(1.0, some / all_)
    middle = share + z * z / (2 * all_)
    wide = z * math.sqrt(share * (1 - share) / all_ + z * z / (4 * all_ * all_))
    return max(0.0, (middle - wide) / (1 + z * z / all_)), min(1.0, (middle + wide) / (1 + z * z / all_))


def of_ratios(over: Sequence[float], under: Sequence[float], level: float = 0.95, comparisons: int = 1) -> Interval:
    """Returns the mean of over / under with its interval; pairs with a value that is not positive count as none.

    With several comparisons, the level holds for all of them together (Bonferroni). Percentiles of
    resamples are too close together for few pairs; they are taken further out by the factor by
    which Student's interval is wider than the normal one (Hesterberg 2015, "expanded percentiles").
    """
    logs = [math.log(a / b) for a, b in zip(over, under, strict=True) if a > 0 and b > 0]
    if not logs:
        return Interval(math.nan, 0, math.inf)
    count, mean = len(logs), statistics.fmean(logs)
    if count < LEAST_PAIRS:
        return Interval(math.exp(mean), 0, math.inf)
    level = 1 - (1 - level) / comparisons
    factor = math.sqrt(count / (count - 1)) * student(level, count - 1)
    tail = statistics.NormalDist().cdf(-factor)
    # With a seed, as the same runs must give the same verdict.
    source = random.Random(count)
    means = sorted(statistics.fmean(source.choices(logs, k=count)) for _ in range(RESAMPLES))
    low, high = means[int(tail * RESAMPLES)], means[min(RESAMPLES - 1, int((1 - tail) * RESAMPLES))]
    if count < FEW_PAIRS:
        wide = student(level, count - 1) * statistics.stdev(logs) / math.sqrt(count)
        low, high = min(low, mean - wide), max(high, mean + wide)
    return Interval(math.exp(mean), math.exp(low), math.exp(high))
