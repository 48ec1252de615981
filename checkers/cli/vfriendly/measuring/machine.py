# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the machine says about itself before and after: steal time, limits of CPU time, faults of the kernel."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_STEAL = 8  # the column of /proc/stat


def _number_after(path: Path, word: str) -> int | None:
    try:
        for line in path.read_text().splitlines():
            if line.split()[:1] == [word]:
                return int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return None


def _limits() -> list[Path]:
    """Returns the files cpu.stat of this process's groups, of cgroup v1 and v2."""
    found = []
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        for root in [f"/sys/fs/cgroup/{controllers}", "/sys/fs/cgroup/cpu"] if controllers else ["/sys/fs/cgroup"]:
            group = Path(root + path)
            found += [g / "cpu.stat" for g in (group, *group.parents) if (g / "cpu.stat").is_file()]
    return list(dict.fromkeys(found))


def cpuinfo() -> str:
    """Returns what /proc/cpuinfo says of the first CPU."""
    try:
        return Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0]
    except OSError:
        return ""


def is_virtual() -> bool:
    return bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpuinfo(), re.M))


def _steals() -> dict[str, float]:
    """Returns the steal time since the start of the system: of all CPUs as "cpu", of each one as "cpu0" and so on."""
    try:
        rows = [line.split() for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu")]
        return {row[0]: int(row[_STEAL]) / _TICKS for row in rows}
    except (OSError, ValueError, IndexError):
        return {}


@dataclass(frozen=True)
class Machine:
    """None, and CPUs that are missing: this machine does not tell."""

    steal_s: float | None
    throttled_s: float | None
    steal_by_cpu: Mapping[int, float] = field(default_factory=dict)

    @staticmethod
    def now() -> "Machine":
        steals = _steals()
        found = [number / by for f in _limits() for word, by in (("throttled_usec", 1e6), ("throttled_time", 1e9))
                 if (number := _number_after(f, word)) is not None]
        return Machine(steals.pop("cpu", None), sum(found) if found else None,
                       {int(name[3:]): s for name, s in steals.items()})

    def since(self, before: "Machine") -> "Machine":
        def grown(now: float | None, then: float | None) -> float | None:
            return None if now is None or then is None else now - then

        throttled_s = grown(self.throttled_s, before.throttled_s)
        if not self.steal_s and is_virtual():  # Since the start of the system: many hosts never tell.
            return Machine(None, throttled_s)
        return Machine(grown(self.steal_s, before.steal_s), throttled_s,
                       {cpu: s - before.steal_by_cpu[cpu] for cpu, s in self.steal_by_cpu.items()
                        if cpu in before.steal_by_cpu})
