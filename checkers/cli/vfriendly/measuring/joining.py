# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joins findings with a profile: what each finding has cost, and hot places without a finding."""

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from vfriendly import catalogue, fingerprint
from vfriendly.findings import Finding
from vfriendly.fingerprint import relative
from vfriendly.measuring import blocks
from vfriendly.measuring.profile import ON_CPU, Place, Profile, Stack, is_system
from vfriendly.measuring.symbols import Frame
from vfriendly.scanning import Result
from vfriendly.sources import real

# What a feature's findings explain. A loop that the check knows as a wait has waited in all its time.
_EXPLAINS = {
    "spin-loops": ({"spinning", "blocking", "other"}, {"spin", "cpu", "kernel", "block", "wake"}),
    "heap-churn": ({"data sharing", "page faults", "allocation"}, {"kernel", "shootdown", "fault", "alloc", "memory"}),
    "blocking-sync": ({"blocking", "spinning"}, {"kernel", "block", "wake", "spin"}),
    "numa-placement": ({"page faults"}, {"kernel", "fault"}),
}
_ANY = (set[str](), set[str]())
# Share of the CPU time from which a place without a finding is listed.
HOT = 0.01
# CPU time of an allocation and its free: glibc's take 200 to 600 instructions (guidelines/heap-churn.md). Findings are
# ranked by it where the samples of the CPU time are too few to tell.
BLOCK_S = 50e-9
# Blocks from which a place is a finding, and their share of all blocks. More where the blocks live on: a pool for them
# is a larger change than a buffer.
MANY, LARGE_SHARE = 1000, 0.02
MANY_KEPT, LARGE_SHARE_KEPT = 10_000, 0.05
CHECK = "vfriendly-heap-churn-loop-allocation"


@dataclass
class Cost:
    """What was measured at a finding."""

    cpu_s: float = 0
    blocked_s: float = 0
    delay_s: float = 0
    share: float = 0  # of the program's CPU time
    blocks: float = 0  # of memory
    temporary: float = 0  # of these
    counts: dict[str, float] | None = None

    def add(self, s: Stack) -> None:
        if s.what in ON_CPU:
            self.cpu_s += s.seconds
            return
        if s.what == "memory":
            self.blocks += s.count
            self.temporary += s.count if s.call == "temporary" else 0
            return
        self.counts = self.counts or {}
        self.counts[s.what] = self.counts.get(s.what, 0) + s.count
        if s.what == "block":
            self.blocked_s += s.seconds
            self.delay_s += s.delay

    @property
    def weight(self) -> float:
        """What findings are ranked by: time on CPUs, and time that woken threads waited for one."""
        return self.cpu_s + self.delay_s + BLOCK_S * self.blocks

    def text(self) -> str:
        counts = [f"{count:,.0f} {what}s" for what, count in (self.counts or {}).items() if round(count)]
        blocked = [f"{self.blocked_s:.2f} s blocked"] if self.blocked_s >= 0.005 else []
        if self.blocks:
            counts.append(f"{self.blocks:,.0f} blocks of memory, {self.temporary:,.0f} of them temporary")
        return ", ".join([f"{self.cpu_s:.2f} s on CPUs ({self.share:.1%} of the program's)", *blocked, *counts])


@dataclass
class Joined:
    profile: Profile
    costs: dict[int, Cost]  # by id of the finding
    hot: list[Place]
    unseen: int = 0  # findings about blocks of memory of which the run took none

    def of(self, finding: Finding) -> Cost | None:
        return self.costs.get(id(finding))

    def rank(self, finding: Finding) -> float:
        """Returns 50 to 100 for findings that were seen to cost something, and less for all others."""
        cost = self.of(finding)
        return 50 + 50 * min(1.0, cost.share) if cost else finding.weight / 2


def _feature(check: str) -> str:
    return next((name for name in _EXPLAINS if check.startswith(f"vfriendly-{name}")), "")


class _Lines:
    """The findings of a file by line. A profile's paths may be those of another machine's build."""

    def __init__(self, result: Result) -> None:
        self._by_name: dict[str, list[tuple[str, int, int, Finding]]] = defaultdict(list)
        for f in result.findings:
            first = last = f.line
            if f.extent:
                source = result.sources[f.path]
                first = min(first, source.position(f.extent.begin).line)
                last = max(last, source.position(max(f.extent.begin, f.extent.end - 1)).line)
            self._by_name[os.path.basename(f.path)].append((f.path, first, last, f))

    def at(self, frame: Frame) -> list[Finding]:
        """Returns the findings around a line, those of the smallest construct first."""
        found = [(last - first, f) for path, first, last, f in self._by_name.get(os.path.basename(frame.file), ())
                 if first <= frame.line <= last and _same_file(path, frame.file)]
        return [f for _, f in sorted(found, key=lambda pair: pair[0])]


def _same_file(ours: str, theirs: str) -> bool:
    """Returns True if the paths may be of one file: they agree in the name and, unless both exist, in its folder."""
    if ours == theirs or (os.path.exists(theirs) and os.path.realpath(theirs) == ours):
        return True
    return not os.path.exists(theirs) and _tail(ours) == _tail(theirs)


def _tail(path: str) -> list[str]:
    return os.path.normpath(path).split("/")[-2:]


def join(result: Result, profile: Profile) -> Joined:
    """Gives each event to the innermost finding that explains it, and sorts the findings by their cost."""
    _add_hot_blocks(result, profile)
    lines = _Lines(result)
    costs: dict[int, Cost] = {}
    left: list[Stack] = []
    cpu = profile.user_s + profile.system_s
    for s in profile.stacks:
        finding = _finding(s, lines)
        if finding:
            costs.setdefault(id(finding), Cost()).add(s)
        else:
            left.append(s)
    for cost in costs.values():
        cost.share = cost.cpu_s / cpu if cpu else 0.0
    unseen = _without_blocks(result, costs) if any(s.what == "memory" for s in profile.stacks) else []
    result.findings = [f for f in result.findings if id(f) not in {id(u) for u in unseen}]
    joined = Joined(profile, costs, [p for p in replace(profile, stacks=left).places() if p.cost >= HOT * cpu > 0],
                    len(unseen))
    result.findings.sort(key=lambda f: (-costs[id(f)].weight if id(f) in costs else 0.0, *f.rank()))
    result.joined = joined
    return joined


def _seen(p: blocks.MemoryPlace, total: float) -> str:
    """Returns what was seen at a place that allocates so often that it is a finding, and what to do; else ""."""
    often = f"takes {p.blocks:,.0f} blocks of memory in the measured run"
    if p.temporary >= max(MANY, LARGE_SHARE * total):
        return (f"{often}, and frees {p.temporary:,.0f} of them soon: keep one for the next call, or get it from the "
                "caller")
    if p.passed >= max(MANY, LARGE_SHARE * total):
        return f"{often}, {p.passed:,.0f} of which another thread frees: hand them back and use them again"
    if p.blocks >= max(MANY_KEPT, LARGE_SHARE_KEPT * total):
        return f"{often}: if they end together, take them from a pool (vf_pool)"
    return ""


def _add_hot_blocks(result: Result, profile: Profile) -> None:
    """Adds a finding for each place that was seen to take many blocks, unless a check has one.

    A check cannot know how often a function runs that has no loop; what was measured needs no proof.
    """
    places = blocks.places(profile)
    total = sum(p.blocks for p in places)
    known, added, rule = _Lines(result), [], catalogue.rule(CHECK)
    for p in places:
        seen = _seen(p, total)
        if not seen or any(f.check.startswith("vfriendly-heap-churn-") for f in known.at(p.frame)):
            continue
        path = real(result.root, p.frame.file)
        source = result.sources[path]
        if relative(path, result.root) == path or not 0 < p.frame.line <= len(source.starts):
            continue  # It is outside of the project, or not the file that was compiled.
        line = source.line(p.frame.line)
        offset = source.offset(p.frame.line, 1 + len(line) - len(line.lstrip()))
        message = f"{seen} ({rule.guideline})"
        added.append(Finding(CHECK, path, offset, "Warning", [message], None, (), [], [], weight=rule.weight(message)))
    fingerprint.add(added, result.sources, result.root)
    result.findings += added


def _without_blocks(result: Result, costs: dict[int, Cost]) -> list[Finding]:
    """Returns the findings about memory that is taken again and again, of which the run has taken none."""
    return [f for f in result.findings if f.check in (CHECK, "vfriendly-heap-churn-growth")
            and not (id(f) in costs and costs[id(f)].blocks)]


def _finding(s: Stack, lines: _Lines) -> Finding | None:
    # Of memory, the callers allocate other blocks: only where it is taken, and what calls that, is meant.
    frames = _own(s.frames)
    if s.what == "memory":
        by = blocks.caller(s)
        frames = [f for f in s.frames[s.frames.index(by):] if f.file][:2] if by else []
    for frame in frames:
        for f in lines.at(frame):
            causes, whats = _EXPLAINS.get(_feature(f.check), _ANY)
            if s.what in whats and s.cause in causes:
                return f
    return None


def _own(frames: Iterable[Frame]) -> Iterable[Frame]:
    return (f for f in frames if f.file and not is_system(f.module))
