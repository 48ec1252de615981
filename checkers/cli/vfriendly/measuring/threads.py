# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many threads of a program could run at once, on how many CPUs, and how long they waited for one.

Every user may read /proc/PID/task/TID/schedstat: the time on CPUs, and the time in which the thread could run and had
none. Their sum over the threads, by the time that has passed, is how many threads could run.
"""

import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vfriendly import cpu_limit

# Seconds between two looks, and how many times longer at least than a look takes.
LOOK_S, LONGER = 0.1, 100
# Part of an interval from which a thread that could run counts as one of those that share the CPUs.
ACTIVE = 0.1
# Threads that could run, by CPUs, from which the threads of an interval share CPUs: the kernel counts a thread that
# waits only when it has got its CPU, so intervals differ.
CROWDED = 1.25
# Part of the time in which threads shared CPUs from which their number is worth a change. Beside other programs a
# single interval may have a second thread that waits to begin.
NOTABLE = 0.1


# The field processor of /proc/PID/task/TID/stat, after the name.
_PROCESSOR = 39 - 3


@dataclass
class Crowd:
    """What a profile keeps of the threads."""

    cpus: float  # that the program may use
    active: float = 0  # threads that could run, where they shared CPUs; else in the mean
    runnable: float = 0  # mean of threads that could run at once
    seen_s: float = 0  # time between the looks
    crowded_s: float = 0  # of that, time in which more threads could run than there are CPUs
    delay_s: float = 0  # threads waited for a CPU
    # By name: threads, cpu_s, delay_s; ended and ended_s, blocks of others that their wake-ups have ended.
    names: dict[str, dict[str, float]] = field(default_factory=dict)
    pools: list[str] = field(default_factory=list)  # names of vfriendly.pools

    @property
    def is_crowded(self) -> bool:
        return self.active >= 2 and self.crowded_s > NOTABLE * self.seen_s

    @staticmethod
    def of(data: Mapping[str, Any] | None) -> "Crowd | None":
        return Crowd(**data) if data else None


@dataclass
class _Thread:
    name: str
    cpu_ns: int  # since the measurement began
    delay_ns: int
    last: tuple[int, int]  # as the kernel counts


class Threads:
    def __init__(self) -> None:
        self._threads: dict[tuple[int, int], _Thread] = {}
        self.processes: dict[int, str] = {}  # names by number
        # Seconds on each CPU and in wait for it, by where a thread was at the end of an interval.
        self.on_cpu, self.for_cpu = defaultdict[int, float](float), defaultdict[int, float](float)
        self._cpus = self._last_s = self._next_s = 0.0
        # Of the intervals: seconds, threads that could run, active ones.
        self._intervals: list[tuple[float, float, int]] = []

    def begin(self, family: Sequence[int]) -> None:
        """Takes what the threads have used until now as not measured."""
        for process in family:
            for thread, ns in _read(process):
                self._threads[process, thread] = _Thread("", 0, 0, ns)
        self._last_s = time.monotonic()

    def look(self, family: Sequence[int], last: bool = False) -> None:
        began = time.monotonic()
        if began < self._next_s and not last:
            return
        passed, run_ns, active = began - self._last_s, 0, 0
        cpus = 0.0
        for process in family:
            found = _read(process)
            grown = [self._take(process, thread, ns) for thread, ns in found]
            run_ns += sum(grown)
            active += sum(ns >= ACTIVE * passed * 1e9 for ns in grown)
            if found:
                cpus = max(cpus, _cpus(process, [t for t, _ in found]))
                self.processes[process] = _name(process, process)
        self._cpus = cpus or self._cpus
        if passed > 0:
            self._intervals.append((passed, run_ns / (passed * 1e9), active))
        self._last_s = began
        self._next_s = began + max(LOOK_S, LONGER * (time.monotonic() - began))

    def _take(self, process: int, thread: int, now: tuple[int, int]) -> int:
        """Returns the nanoseconds in which the thread could run since the last look."""
        known = self._threads.setdefault((process, thread), _Thread("", 0, 0, (0, 0)))
        cpu, delay = (n - before for n, before in zip(now, known.last, strict=True))
        if cpu < 0 or delay < 0:  # Another thread has the number now.
            cpu, delay = now
        known.last = now
        if cpu or not known.name:
            known.name = _name(process, thread) or known.name
        known.cpu_ns, known.delay_ns = known.cpu_ns + cpu, known.delay_ns + delay
        if cpu + delay and (where := _processor(process, thread)) is not None:
            self.on_cpu[where] += cpu / 1e9
            self.for_cpu[where] += delay / 1e9
        return cpu + delay

    def crowd(self, ended: Mapping[int, tuple[float, float]]) -> Crowd | None:
        """Returns what was seen; None if the kernel does not tell (CONFIG_SCHED_INFO), or nothing ran. `ended` has the
        blocks that a thread has ended, and their seconds, by its number."""
        wall = sum(s for s, _, _ in self._intervals)
        if not self._threads or wall <= 0:
            return None
        cpus = self._cpus or float(len(os.sched_getaffinity(0)))
        found = Crowd(cpus, delay_s=sum(t.delay_ns for t in self._threads.values()) / 1e9)
        found.runnable = sum(s * n for s, n, _ in self._intervals) / wall
        crowded = [(s, active) for s, n, active in self._intervals if n >= CROWDED * cpus and active > cpus]
        found.seen_s = wall
        found.crowded_s = sum(s for s, _ in crowded)
        some = crowded or [(s, active) for s, _, active in self._intervals]
        found.active = sum(s * active for s, active in some) / sum(s for s, _ in some)
        for (_, number), t in self._threads.items():
            if t.cpu_ns or t.delay_ns:
                row = found.names.setdefault(t.name, {"threads": 0, "cpu_s": 0.0, "delay_s": 0.0})
                row["threads"] += 1
                row["cpu_s"] += t.cpu_ns / 1e9
                row["delay_s"] += t.delay_ns / 1e9
                if number in ended:
                    row["ended"] = row.get("ended", 0) + ended[number][0]
                    row["ended_s"] = row.get("ended_s", 0) + ended[number][1]
        return found


def _read(process: int) -> list[tuple[int, tuple[int, int]]]:
    """Returns the threads of a process, with nanoseconds on CPUs and in wait for one."""
    found = []
    try:
        names = os.listdir(f"/proc/{process}/task")
    except OSError:
        return []
    for name in names:
        try:
            with open(f"/proc/{process}/task/{name}/schedstat", "rb", buffering=0) as file:
                words = file.read().split()
        except OSError:  # It has just ended, or the kernel does not tell.
            continue
        if len(words) == 3:
            found.append((int(name), (int(words[0]), int(words[1]))))
    return found


def _processor(process: int, thread: int) -> int | None:
    """Returns the CPU on which a thread has run last (proc_pid_stat(5)); its name may have blanks and brackets."""
    try:
        text = Path(f"/proc/{process}/task/{thread}/stat").read_text(errors="replace")
        return int(text.rpartition(")")[2].split()[_PROCESSOR])
    except (OSError, ValueError, IndexError):
        return None


def _name(process: int, thread: int) -> str:
    try:
        return Path(f"/proc/{process}/task/{thread}/comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def _cpus(process: int, threads: Sequence[int]) -> float:
    """Returns how many CPUs the threads may use together."""
    allowed = set[int]()
    for thread in threads:
        try:
            allowed |= os.sched_getaffinity(thread)
        except OSError:
            continue
    least = cpu_limit.limit(Path(f"/proc/{process}/cgroup"))
    return min(float(len(allowed)), least) if least else float(len(allowed))
