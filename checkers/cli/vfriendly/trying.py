# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounds of runs of several variants, and their ratios to the first variant."""

import math
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from vfriendly import intervals, running
from vfriendly.errors import Refused
from vfriendly.intervals import Interval

# A variant that takes this many times as long as the first one's warm-up, and some seconds more for
# short programs, is stopped: it is no remedy, and may have no end.
SLOWEST, SLACK_S = 10, 10


@dataclass(frozen=True)
class Metric:
    """A figure of a run. The value of a pattern is its group, or all that it matches."""

    name: str
    pattern: re.Pattern[str] | None = None
    higher: bool = False  # is better

    def of(self, run: running.Run) -> float | None:
        if not self.pattern:
            return run.wall if self.name == "wall" else run.cpu
        values = []
        for match in self.pattern.finditer(run.output + "\n" + run.errors):
            text = match[1] if match.re.groups else match[0]
            try:
                values.append(float((text or "").replace(",", "")))
            except ValueError:
                continue
        return values[-1] if values else None  # The last one, as programs print sums at their end.

    def show(self, value: float) -> str:
        if self.pattern:
            return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
        return f"{value:.3f} s"


WALL, CPU = Metric("wall"), Metric("CPU")


def metric(pattern: str, higher: bool) -> Metric:
    """Returns the metric of a regular expression. Raises Refused."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise Refused(f"--metric '{pattern}' is not a regular expression: {error}") from None
    if compiled.groups > 1:
        raise Refused(f"--metric '{pattern}' has {compiled.groups} groups: one group is the number")
    name = re.sub(r"\(.*\)|[\\^$*+?.:=\[\]]|\\.", " ", pattern)
    return Metric(" ".join(name.split()) or pattern, compiled, higher)


@dataclass
class Variant:
    """A way to run the program. The first variant of a trial is the one to compare with."""

    name: str
    line: str  # of the shell, that runs it
    run: Callable[[float | None], running.Run]
    parts: int = 0
    failure: str = ""
    runs: list[running.Run] = field(default_factory=list)


class Trial:
    """Runs variants in turn. The result may be used at any time, such as after an interruption."""

    def __init__(self, variants: Sequence[Variant], metrics: Sequence[Metric], rounds: int,
                 progress: Callable[[str], None]) -> None:
        self.variants, self.metrics, self.rounds = list(variants), list(metrics), rounds
        self._progress = progress
        self._timeout: float | None = None

    def go(self, timeout: float | None) -> None:
        """Runs all rounds. Raises Refused if the first variant fails or has no metric."""
        first = self.variants[0]
        self._timeout = timeout
        for number, variant in enumerate(self.variants):
            self._progress(f"warm-up {number + 1} of {len(self.variants)}")
            run = self._once(variant)
            if variant is not first:
                continue
            if variant.failure:
                raise Refused(f"{variant.name}: {variant.failure}: {variant.line}")
            self._timeout = timeout or SLOWEST * run.wall + SLACK_S
        ended: list[float] = []
        for number in range(self.rounds):
            began = time.monotonic()
            left = statistics.fmean(ended) * (self.rounds - number) if ended else 0
            self._progress(f"round {number + 1} of {self.rounds}" + (f", {left:.0f} s left" if left else ""))
            # Another variant begins each round, so that none always runs after the same other one.
            alive = [v for v in self.variants if not v.failure]
            shift = number % len(alive)
            done = [(v, self._once(v)) for v in alive[shift:] + alive[:shift]]
            if first.failure:
                raise Refused(f"{first.name} failed in round {number + 1}: {first.failure}")
            for variant, run in done:
                if not variant.failure:
                    variant.runs.append(run)
            ended.append(time.monotonic() - began)

    def _once(self, variant: Variant) -> running.Run:
        run = variant.run(self._timeout)
        variant.failure = run.failure
        for one in self.metrics:
            if not variant.failure and one.of(run) is None:
                assert one.pattern
                variant.failure = f"nothing that it prints matches --metric '{one.pattern.pattern}' with a number"
        return run

    @property
    def done(self) -> int:
        return min(len(v.runs) for v in self.variants if not v.failure)

    def values(self, variant: Variant, one: Metric) -> list[float]:
        return [value for run in variant.runs[:self.done] if (value := one.of(run)) is not None]

    def gain(self, variant: Variant, one: Metric, over: Variant | None = None, comparisons: int = 0) -> Interval:
        """Returns how many times better the variant is than the first one, or than another one."""
        pair = self.values(over or self.variants[0], one), self.values(variant, one)
        worse, better = reversed(pair) if one.higher else pair
        return intervals.of_ratios(worse, better, comparisons=comparisons or max(1, len(self.others)))

    @property
    def others(self) -> list[Variant]:
        return [v for v in self.variants[1:] if not v.failure]

    def best(self, one: Metric) -> Variant | None:
        """Returns the variant with the greatest gain, or a simpler one that these runs cannot tell from it."""
        better = [v for v in self.others if self.gain(v, one).low > 1]
        if not better:
            return None
        top = max(better, key=lambda v: self.gain(v, one).estimate)
        alike = [v for v in better if v is top or not self.gain(v, one, top, 1).differs]
        return min(alike, key=lambda v: (v.parts, -self.gain(v, one).estimate))

    def to_json(self) -> dict[str, Any]:
        def finite(value: float) -> float | None:
            return value if math.isfinite(value) else None

        rows = []
        for v in self.variants:
            row: dict[str, Any] = {"name": v.name, "line": v.line}
            if v.failure:
                row["failure"] = v.failure
            for one in () if v.failure else self.metrics:
                cell: dict[str, Any] = {"values": self.values(v, one)}
                if v is not self.variants[0]:
                    g = self.gain(v, one)
                    cell["gain"] = {"estimate": finite(g.estimate), "low": finite(g.low), "high": finite(g.high)}
                row[one.name] = cell
            rows.append(row)
        return {"vfriendly": "trial", "version": 1, "rounds": self.done, "variants": rows}

    def table(self) -> Iterator[str]:
        """Yields the lines of the table: medians, and gains with their intervals."""
        head = ["", *(cell for one in self.metrics for cell in (one.name, "gain"))]
        rows = [head]
        for v in self.variants:
            if v.failure:
                rows.append([v.name, v.failure])
                continue
            row = [v.name]
            for one in self.metrics:
                row += [one.show(statistics.median(self.values(v, one))),
                        "" if v is self.variants[0] else self.gain(v, one).text()]
            rows.append(row)
        whole = [row for row in rows if len(row) == len(head)]
        widths = [max(len(row[i]) for row in whole) for i in range(len(head))]
        widths[0] = max(len(row[0]) for row in rows)
        for row in rows:
            cells = [row[0].ljust(widths[0])]
            if len(row) == len(head):
                cells += [c.rjust(w) if n % 2 == 0 else c.ljust(w)
                          for n, (c, w) in enumerate(zip(row[1:], widths[1:], strict=True))]
            else:
                cells += row[1:]
            yield "  ".join(cells).rstrip()

    def verdict(self) -> Iterator[str]:
        one = self.metrics[0]
        best = self.best(one)
        if best:
            yield f"best: {best.name}, {self.gain(best, one).text()} times as good in {one.name}"
        elif self.others:
            worse = [v.name for v in self.others if self.gain(v, one).high < 1]
            yield (f"no gain that {self.done} runs can show in {one.name}" +
                   (f"; worse: {', '.join(worse)}" if worse else "; more runs (--reps) show smaller differences"))
            # The primary figure varies most where others run beside; CPU time does not.
            cheaper = self.best(CPU)
            if one is not CPU and cheaper:
                yield f"less CPU time: {cheaper.name}, {self.gain(cheaper, CPU).text()} times as good: {cheaper.line}"
        if best or self.others:
            top = best or self.variants[0]
            cost = self.gain(top, CPU)
            if best and cost.high < 1:
                yield f"it needs {1 / cost.estimate:.2f} times the CPU time"
