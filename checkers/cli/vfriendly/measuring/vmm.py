# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPU time that a virtual machine took on its host, from text that was recorded there.

A file has counters of the time before and after a run, one below the other: /proc/PID/stat of the VMM,
whose times include all its threads, or cpuacct.usage or cpu.stat of its control group. It may also
have a report of `perf kvm stat`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vfriendly import regular
from vfriendly.errors import Refused

# Of /proc/PID/stat, in which times are in units of 1/100 s on all processors for which KVM exists.
_HZ = 100
_STAT = re.compile(r"(\d+) \(.*\) [A-Za-z](?: -?\d+){40,}\s*")
_USER, _SYSTEM, _GUEST = 11, 12, 40  # fields after the state; the guest's time is part of the user time
# Reasons of exits in which the vCPU is halted: the time in them is mostly sleep.
_HALTED = frozenset({"HLT", "hlt", "MWAIT_INSTRUCTION", "mwait", "WFx", "WFI"})
# perf's table: the reason, samples, their percentage, the percentage of time, and least, greatest and mean time.
_EXIT = re.compile(r"\s*(\S+)\s+(\d+)\s+[\d.]+%\s+([\d.]+)%\s+[\d.]+us\s+[\d.]+us\s+[\d.]+us.*")
_TOTAL = re.compile(r"\s*Total Samples:\s*\d+, Total events handled time:\s*([\d.]+)us\.?\s*")


@dataclass(frozen=True)
class Time:
    """Seconds of one virtual machine. None: not in the file."""

    whole_s: float | None  # of guest and host together
    host_s: float | None  # outside of guest mode
    exits_s: float | None  # in exits for which a vCPU that runs waits; parts of what the guest takes for its own time


def _differences(values: dict[str, list[float]]) -> Iterator[float]:
    for name, seen in values.items():
        if len(seen) < 2:
            raise Refused(f"{name} is there once: record it before and after the run")
        if seen[-1] < seen[0]:
            raise Refused(f"{name} is smaller after the run than before it")
        yield seen[-1] - seen[0]


def _stats(lines: list[str]) -> Time | None:
    whole: dict[str, list[float]] = {}
    guest: dict[str, list[float]] = {}
    for line in lines:
        found = _STAT.fullmatch(line)
        if found:
            fields = line.rpartition(")")[2].split()
            name = f"process {found.group(1)}"
            whole.setdefault(name, []).append((int(fields[_USER]) + int(fields[_SYSTEM])) / _HZ)
            guest.setdefault(name, []).append(int(fields[_GUEST]) / _HZ)
    if not whole:
        return None
    # Several processes are virtual machines with the same work, as the definition demands: half of the time of both.
    total, inside = (sum(_differences(values)) / len(values) for values in (whole, guest))
    return Time(total, max(total - inside, 0.0), None)


def _groups(lines: list[str]) -> Time | None:
    nanoseconds = [float(line) for line in lines if re.fullmatch(r"\d+", line)]
    microseconds = [float(line.split()[1]) for line in lines if re.fullmatch(r"usage_usec \d+", line)]
    for name, values, unit in (("cpuacct.usage", nanoseconds, 1e9), ("usage_usec", microseconds, 1e6)):
        if values:
            return Time(next(_differences({name: values})) / unit, None, None)
    return None


def _exits(lines: list[str]) -> Time | None:
    rows = [found for found in map(_EXIT.fullmatch, lines) if found]
    total = next((float(found.group(1)) for found in map(_TOTAL.fullmatch, lines) if found), None)
    if not rows or total is None:
        return None
    share = sum(float(row.group(3)) for row in rows if row.group(1) not in _HALTED) / 100
    return Time(None, None, total * share / 1e6)


def read(path: str) -> Time:
    """Raises Refused if the file has none of the counters, or has them once."""
    try:
        lines = [line.strip() for line in regular.read(path).decode().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: cannot be read: {error}") from None
    try:
        found = [one for one in (_stats(lines), _groups(lines), _exits(lines)) if one]
    except Refused as error:
        raise Refused(f"{path}: {error}") from None
    if not found:
        raise Refused(f"{path}: has neither /proc/PID/stat nor the CPU time of a control group nor a report of "
                      "perf kvm stat")

    def first(name: str) -> float | None:
        return next((value for one in found if (value := getattr(one, name)) is not None), None)

    return Time(first("whole_s"), first("host_s"), first("exits_s"))
