# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the machine says about itself before and after: steal time, limits of CPU time, faults of the kernel."""

import os
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Machine:
    """None: this machine does not tell."""

    steal_s: float | None
    throttled_s: float | None

    @staticmethod
    def now() -> "Machine":
        try:
            columns = Path("/proc/stat").read_text().split("\n", 1)[0].split()
            steal: float | None = int(columns[_STEAL]) / _TICKS
        except (OSError, ValueError, IndexError):
            steal = None
        found = [number / by for f in _limits() for word, by in (("throttled_usec", 1e6), ("throttled_time", 1e9))
                 if (number := _number_after(f, word)) is not None]
        return Machine(steal, sum(found) if found else None)

    def since(self, before: "Machine") -> "Machine":
        def grown(now: float | None, then: float | None) -> float | None:
            return None if now is None or then is None else now - then

        return Machine(grown(self.steal_s, before.steal_s), grown(self.throttled_s, before.throttled_s))
