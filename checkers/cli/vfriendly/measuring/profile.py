# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile: what was measured, by cause and by stack. Its JSON is the file that vfriendly measure -o writes."""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from vfriendly import documents, intervals
from vfriendly.errors import Refused
from vfriendly.measuring import allocators
from vfriendly.measuring.proving import Proved
from vfriendly.measuring.symbols import Frame
from vfriendly.measuring.threads import Crowd

VERSION = 1
# Parts of a time line: enough to see phases on a page of 1280 pixels, and 10 samples each of one second.
PARTS = 100
# Code that others' programs call, and whose waits are its callers': libraries of C and C++, of
# OpenMP, allocators, and those that are preloaded here.
_SYSTEM = re.compile(r"(ld-linux.*|ld-musl.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|gfortran|quadmath|gomp|[io]mp5?"
                     r"|jemalloc|tcmalloc.*|mimalloc|vf\w+|atomic)[-.].*|\[.*\])$")
# Of these, what says nothing of a stack without other code: how a thread was begun.
_LIBC = re.compile(r"(ld-linux.*|ld-musl.*|lib(c|pthread)[-.].*|\[.*\])$")
CAUSES = ("spinning", "blocking", "data sharing", "page faults", "allocation", "other")
ON_CPU = ("spin", "cpu", "kernel", "alloc")
# Of these, what is not the program's work.
LOST = ("spin", "kernel", "alloc")
TITLES = {
    "spin": "time on a CPU in loops that wait", "cpu": "time on a CPU", "kernel": "time in the kernel",
    "block": "blocks", "wake": "wake-ups of other threads", "shootdown": "TLB shootdowns", "fault": "page faults",
    "site": "waits in the runtime", "alloc": "time on a CPU in the allocator", "memory": "blocks of memory",
}


def is_system(module: str) -> bool:
    return bool(_SYSTEM.match(os.path.basename(module.removesuffix(" (deleted)"))))


@dataclass(frozen=True)
class Stack:
    """Events of one kind at one stack."""

    what: str  # of TITLES
    cause: str  # of CAUSES
    call: str  # the system call, or what became of a block of memory, or ""
    count: float
    seconds: float  # on a CPU for ON_CPU, blocked for block, either of them for site
    delay: float  # seconds between wake-up and run
    frames: tuple[Frame, ...]
    bytes: float = 0  # of blocks of memory

    @property
    def own(self) -> Frame | None:
        """Returns the first frame in the program's own code.

        The runtime may be linked into the program: what its functions vf_* call is not the program's own either.
        """
        begin = max((i + 1 for i, f in enumerate(self.frames) if f.function.startswith("vf_")), default=0)
        return next((f for f in self.frames[begin:] if f.module and not is_system(f.module)), None)

    @property
    def shown(self) -> Frame | None:
        """Returns the own frame; else, as in threads that a library begins, the first outside of libc, or the last."""
        if self.what == "alloc" and (by := allocators.caller([f for f in self.frames if not is_system(f.module)])):
            return by
        outside = (f for f in self.frames if f.module and not _LIBC.match(os.path.basename(f.module)))
        return self.own or next(outside, None) or (self.frames[-1] if self.frames else None)


class Timed(NamedTuple):
    """A sample's stack, when it was taken, by the monotonic clock, and on which CPU (or samples.NO_CPU)."""

    ns: int
    cpu: int
    stack: Stack


@dataclass
class Place:
    """What happens at a line of the program's own code."""

    frame: Frame
    cause: str
    spin_s: float = 0
    cpu_s: float = 0
    kernel_s: float = 0
    alloc_s: float = 0  # in user mode
    blocked_s: float = 0
    waited_s: float = 0  # in the runtime, by its own clock: spun or blocked
    delay_s: float = 0
    counts: dict[str, float] = field(default_factory=dict)
    through: dict[str, float] = field(default_factory=dict)  # what it calls, by cost

    @property
    def cost(self) -> float:
        """CPU time that is not the program's work, and time that threads waited for a CPU after a wake-up."""
        return self.spin_s + self.kernel_s + self.alloc_s + self.delay_s

    @property
    def mostly_through(self) -> str:
        """Returns the call with most of the cost, or ""."""
        return max(self.through, key=lambda k: self.through[k], default="")


@dataclass
class Profile:
    command: list[str]
    tier: str
    missing: list[str]
    cpus: int
    wall_s: float
    user_s: float
    system_s: float
    # None of the following: not known, see unknown
    steal_s: float | None
    throttled_s: float | None
    run_delay_s: float | None
    totals: dict[str, dict[str, float]]  # exact counts by kind: count, seconds
    overhead: dict[str, float]
    stacks: list[Stack]
    modules: dict[str, str] = field(default_factory=dict)  # build ids
    period_s: float = 0.001
    timeline: dict[str, list[float]] = field(default_factory=dict)  # see timeline(); {}: not known
    crowd: Crowd | None = None
    # What this way to measure cannot know: of the table, "COLUMN" or "CAUSE COLUMN" with the columns of seconds_of().
    unknown: list[str] = field(default_factory=list)
    proved: Proved | None = None
    by_cpu: dict[str, dict[str, float | None]] = field(default_factory=dict)  # see vcpus.rows()

    def places(self) -> list[Place]:
        """Returns the places, the most costly first."""
        found: dict[tuple[str, str, int, str], Place] = {}
        hottest: dict[tuple[str, str, int, str], tuple[bool, float]] = {}
        for s in self.stacks:
            if s.what in ("cpu", "memory"):
                continue
            frame = s.shown
            if not frame:
                continue
            # A loop that waits has several lines: it is one place, at its hottest line. Line 0 is that of code that
            # the compiler has merged: it says nothing.
            line = frame.line if s.what != "spin" else 0
            key = (frame.function or f"{frame.module}+{frame.offset:#x}", frame.file or frame.module, line, s.cause)
            place = found.setdefault(key, Place(frame, s.cause))
            heat = (frame.line > 0, s.seconds)
            if heat > hottest.get(key, (False, 0.0)):
                hottest[key], place.frame = heat, frame
            if s.what == "spin":
                place.spin_s += s.seconds
            elif s.what == "kernel":
                place.kernel_s += s.seconds
            elif s.what == "alloc":
                place.alloc_s += s.seconds
            elif s.what == "block":
                place.blocked_s += s.seconds
                place.delay_s += s.delay
            elif s.what == "site":
                place.waited_s += s.seconds
            if s.what not in LOST:
                place.counts[s.what] = place.counts.get(s.what, 0) + s.count
            inner = s.frames[0]
            name = s.call or (inner.function if inner != frame else "")
            if name:
                place.through[name] = place.through.get(name, 0) + s.seconds + s.count * 1e-9
        return sorted(found.values(), key=lambda p: (-p.cost, -p.blocked_s, -p.waited_s, -sum(p.counts.values()),
                                                     p.frame.function))

    def seconds_of(self, cause: str) -> dict[str, float]:
        """Returns CPU time, blocked time and delay of a cause."""
        mine = [s for s in self.stacks if s.cause == cause]
        return {"cpu": sum(s.seconds for s in mine if s.what in LOST),
                "blocked": sum(s.seconds for s in mine if s.what == "block"),
                "delay": sum(s.delay for s in mine)}

    def is_known(self, cause: str, column: str) -> bool:
        return column not in self.unknown and f"{cause} {column}" not in self.unknown

    def interval_of(self, cause: str) -> tuple[float, float]:
        """Returns the 95 % interval of a cause's share of the CPU time, by the number of samples (Wilson)."""
        counts = [s.count for s in self.stacks if s.what in ON_CPU]
        mine = sum(s.count for s in self.stacks if s.cause == cause and s.what in LOST)
        cpu, seen = self.user_s + self.system_s, sum(s.seconds for s in self.stacks if s.what in ON_CPU)
        if not counts or cpu <= 0:
            return (0.0, 1.0)
        low, high = intervals.of_share(mine, sum(counts))
        by = min(1.0, seen / cpu)  # of what was not seen, nothing is known
        return low * by, min(1.0, high * by + 1 - by)

    @property
    def samples_on_cpu(self) -> float:
        return sum(s.count for s in self.stacks if s.what in ON_CPU)

    def to_json(self) -> str:
        frames: dict[Frame, int] = {}
        rows = []
        for s in self.stacks:
            row = asdict(s)
            row["frames"] = [frames.setdefault(f, len(frames)) for f in s.frames]
            rows.append(row)
        head = {"vfriendly": "profile", "version": VERSION}
        body = {k: v for k, v in vars(self).items() if k not in ("stacks", "crowd", "proved")}
        if self.crowd:
            body["crowd"] = asdict(self.crowd)
        if self.proved:
            body["proved"] = asdict(self.proved)
        return json.dumps({**head, **body, "frames": [asdict(f) for f in frames], "stacks": rows}) + "\n"


def read(path: str) -> Profile:
    """Raises Refused if the file is no profile."""
    try:
        data = documents.json_of(path)
        if not isinstance(data, dict) or data.pop("vfriendly", None) != "profile":
            raise ValueError("it has no name")
        if data.pop("version", None) != VERSION:
            raise Refused(f"{path}: is a profile of another version: measure again")
        frames = [documents.typed(Frame, f) for f in _list(data, "frames")]
        stacks = [documents.typed(Stack, {**s, "frames": tuple(frames[i] for i in s["frames"] if i >= 0)})
                  for s in _list(data, "stacks")]
        crowd, proved = data.get("crowd"), data.get("proved")
        done: Profile = documents.typed(Profile, {
            **data, "crowd": documents.typed(Crowd, crowd) if crowd else None,
            "proved": documents.typed(Proved, proved) if proved else None, "stacks": stacks})
        return done
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, LookupError, AttributeError):
        raise Refused(f"{path}: is no profile: vfriendly measure -o FILE writes one") from None


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.pop(name)
    if not isinstance(value, list):
        raise ValueError(f"{name} is no list")
    return value


def share(stack: Stack) -> str:
    """Returns what the time of a stack that was on a CPU is shown as: a cause, or "work"."""
    return "work" if stack.what == "cpu" else stack.cause


def timeline(timed: Iterable[Timed], began_ns: int, wall_s: float) -> dict[str, list[float]]:
    """Returns the seconds on CPUs by share() in each of PARTS equal parts of the wall time."""
    found: dict[str, list[float]] = {}
    for ns, _, stack in timed:
        if stack.what in ON_CPU and wall_s > 0:
            part = int((ns - began_ns) / (wall_s * 1e9) * PARTS)
            found.setdefault(share(stack), [0.0] * PARTS)[min(max(part, 0), PARTS - 1)] += stack.seconds
    return found


def joined(stacks: Iterable[Stack]) -> list[Stack]:
    """Adds up the stacks that differ only in their figures."""
    found: dict[tuple[Any, ...], list[float]] = {}
    for s in stacks:
        sums = found.setdefault((s.what, s.cause, s.call, s.frames), [0, 0, 0, 0])
        for i, value in enumerate((s.count, s.seconds, s.delay, s.bytes)):
            sums[i] += value
    return [Stack(what, cause, call, sums[0], sums[1], sums[2], frames, sums[3])
            for (what, cause, call, frames), sums in found.items()]
