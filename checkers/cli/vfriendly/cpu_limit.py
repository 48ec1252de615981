# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The CPU limit of a container, and how many threads fit it.

Libraries make a thread for each CPU, and know nothing of limits of CPU time.
"""

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

# What OpenMP's runtimes and OpenBLAS read.
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def _quota(folder: Path) -> float | None:
    """Returns the limit of one group in CPUs, of cgroup v2 or v1."""
    words = _text(folder / "cpu.max").split() or (_text(folder / "cpu.cfs_quota_us").split()
                                                  + _text(folder / "cpu.cfs_period_us").split())
    try:
        quota, period = map(int, words)
    except ValueError:  # "max", or no such files
        return None
    return quota / period if quota > 0 and period > 0 else None


def _folders(membership: Path, mount: Path) -> Iterator[Path]:
    """Yields the folders of the process's group and its ancestors. In a container without a namespace
    only the end of the group's path is below the mount."""
    v1: tuple[str, str] | None = None
    v2: str | None = None
    for line in _text(membership).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if "cpu" in controllers.split(","):
            v1 = (controllers, path)
        elif not controllers:
            v2 = path
    roots = [mount / v1[0], mount / "cpu"] if v1 else [mount / "unified", mount]
    root = next((r for r in roots if r.is_dir()), None)
    below = v1[1] if v1 else v2
    if root is None or below is None:
        return
    parts = [] if "/.." in below else below.strip("/").split("/")
    while parts and not root.joinpath(*parts).is_dir():
        parts = parts[1:]
    for n in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:n])


def limit(membership: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Returns the smallest limit of this process's groups in CPUs, or None."""
    return min((q for f in _folders(membership, mount) if (q := _quota(f))), default=None)


def cpus(process: int = 0) -> float:
    """Returns how many CPUs a process may use: those of its mask, or less by a limit. Raises OSError."""
    allowed = len(os.sched_getaffinity(process))
    least = limit(Path(f"/proc/{process or 'self'}/cgroup"))
    return min(float(allowed), least) if least else float(allowed)


def threads_for(cpus_: float) -> int:
    """Returns as many threads as a number of CPUs can run at once."""
    return max(1, math.ceil(cpus_))


def thread_counts(given: Mapping[str, str]) -> dict[str, str]:
    """Returns variables that make as many threads as the limit has CPUs, rounded up, unless it has all
    CPUs, or the environment `given` sets them."""
    cpus = limit()
    threads = math.ceil(cpus) if cpus else 0
    if not 0 < threads < len(os.sched_getaffinity(0)):
        return {}
    return {name: str(threads) for name in VARIABLES if name not in given}
