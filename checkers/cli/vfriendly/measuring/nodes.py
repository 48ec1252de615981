# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On which NUMA nodes a program's pages lie, and on which it computes; where the machine has several."""

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from vfriendly import numa

# Seconds between two looks, and how much longer at least than a look takes: it walks all pages, some 10 ms a GiB.
LOOK_S, LONGER = 0.2, 100
# Of /proc/PID/task/TID/stat, after the name of the thread.
_USER, _SYSTEM, _CPU = 11, 12, 36
# What the kernel's balancing has sampled, of the whole machine.
HINTS, LOCAL_HINTS = "numa_hint_faults", "numa_hint_faults_local"


class Nodes:
    """Pages by node, as the mean over the program's CPU time, and that time by node."""

    def __init__(self) -> None:
        self._node_of = numa.nodes_of_cpus()
        self.several = len(set(self._node_of.values())) > 1
        self._pages: Counter[int] = Counter()  # times ticks
        self._ticks: Counter[int] = Counter()
        self._seen: dict[tuple[int, int], int] = {}  # ticks of each thread
        self._hints = _hints() if self.several else {}
        self._next_s = 0.0

    def begin(self, family: Sequence[int]) -> None:
        """Leaves out what running processes have used until now."""
        self.look(family)
        self._pages.clear()
        self._ticks.clear()

    def look(self, family: Sequence[int], last: bool = False) -> None:
        """Looks if it is time to, or for the last time: what was used since the look before would be missing."""
        began = time.monotonic()
        if not self.several or (began < self._next_s and not last):
            return
        for process in family:
            self._look_at(process)
        self._next_s = began + max(LOOK_S, LONGER * (time.monotonic() - began))

    def _look_at(self, process: int) -> None:
        try:
            threads = [(int(t), Path(f"/proc/{process}/task/{t}/stat").read_text(errors="replace"))
                       for t in os.listdir(f"/proc/{process}/task")]
            pages = pages_by_node(Path(f"/proc/{process}/numa_maps").read_text(errors="replace").splitlines())
        except OSError:  # It has ended, or belongs to another user.
            return
        self.add(process, threads, pages)

    def add(self, process: int, threads: Iterable[tuple[int, str]], pages: Counter[int]) -> None:
        """threads: numbers, and their lines of /proc."""
        all_ticks = 0
        for thread, line in threads:
            fields = line.rpartition(")")[2].split()
            ticks = int(fields[_USER]) + int(fields[_SYSTEM])
            new = ticks - self._seen.get((process, thread), 0)
            self._seen[process, thread] = ticks
            all_ticks += new
            self._ticks[self._node_of.get(int(fields[_CPU]), 0)] += new
        for node, count in pages.items():
            self._pages[node] += count * all_ticks

    def exact(self) -> dict[str, dict[str, float]]:
        """Returns rows of a profile's totals; {} if there is one node, or nothing was seen.

        `remote pages` is the least number of pages that a node has more than its share of the CPU time: if all CPU
        time uses equally much memory, at least these are used from another node.
        """
        all_ticks = sum(self._ticks.values())
        if not all_ticks:
            return {}
        pages = {node: count / all_ticks for node, count in self._pages.items()}
        all_pages, second = sum(pages.values()), os.sysconf("SC_CLK_TCK")
        found = {f"pages of node {node}": {"count": pages.get(node, 0.0), "seconds": self._ticks[node] / second}
                 for node in sorted({*pages, *self._ticks})}
        remote = sum(max(0.0, count - all_pages * self._ticks[node] / all_ticks) for node, count in pages.items())
        found["remote pages"] = {"count": remote, "seconds": 0.0}
        for name, count in _hints().items():
            if count > self._hints.get(name, count):
                found[name.replace("_", " ")] = {"count": count - self._hints[name], "seconds": 0.0}
        return found


def pages_by_node(lines: Iterable[str]) -> Counter[int]:
    """Returns the pages that a process has written itself: those of files are shared with others, and stay anywhere."""
    found: Counter[int] = Counter()
    for line in lines:
        if re.search(r"\banon=", line):
            size = re.search(r"kernelpagesize_kB=(\d+)", line)
            for node, pages in re.findall(r"\bN(\d+)=(\d+)", line):
                found[int(node)] += int(pages) * (int(size.group(1)) if size else 4) // 4
    return found


def _hints() -> dict[str, int]:
    try:
        text = Path("/proc/vmstat").read_text(encoding="ascii")
    except OSError:
        return {}
    return {name: int(count) for name, count in re.findall(rf"^({HINTS}|{LOCAL_HINTS}) (\d+)$", text, re.M)}
