# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Brings the memory of a process to the host's nodes that use it, in a guest that sees one node.

The host places a page where the vCPU runs that touches it first. A copy of memory in the guest is such
a touch, if it goes to frames that the host has not given yet. process_madvise(2) with MADV_COLLAPSE
copies a block of 2 MiB of another process, which goes on meanwhile, on the CPU of its caller. The
guest's kernel would take the frames that one copy frees for the next, and those are placed already: so
this process takes as much memory after each copy, and keeps it until all are done.
"""

import ctypes
import errno
import mmap
import os
import re
import signal
import struct
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from vfriendly import numa
from vfriendly.errors import Refused

# The number of process_madvise is the same on all architectures.
_PROCESS_MADVISE, _COLD, _COLLAPSE = 440, 20, 25
_POPULATE = 0x8000  # MAP_POPULATE
_PMD_SIZE = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
# Minimum number of samples of a block: one may be of a thread that only passes by.
ENOUGH = 2
# Minimum share of the samples that are from one group, if the block is that group's. The rest are of
# pages at the ends of a thread's part, or older than the part.
OWN = 0.9
# Share of the guest's memory that copies leave free.
SPARE = 0.1
_libc = ctypes.CDLL(None, use_errno=True)


def groups(text: str) -> list[list[int]]:
    """Returns lists of CPUs, as in 0-3/4-7. Refuses other text."""
    try:
        found = [numa.numbers(each) for each in text.split("/")]
    except ValueError:
        found = []
    everyone = [cpu for group in found for cpu in group]
    if len(found) < 2 or not all(found) or len(set(everyone)) < len(everyone):
        raise Refused(f"--groups: '{text}' is not two groups of CPUs or more, such as 0-3/4-7")
    for cpu in everyone:
        if cpu not in os.sched_getaffinity(0):
            raise Refused(f"--groups: CPU {cpu} is not one that this process may use")
    return found


def may_place() -> int:
    """Returns the size of a block. Refuses where the kernel has no samples or no copies of other processes' memory."""
    nodes = sorted(set(numa.nodes_of_cpus().values()))
    if len(nodes) > 1:
        raise Refused(f"this machine has {len(nodes)} nodes: `vfriendly numa balance` moves pages between those")
    if not os.access(numa.BALANCING, os.W_OK):
        why = "run as root" if os.path.exists(numa.BALANCING) else "a kernel with CONFIG_NUMA_BALANCING is needed"
        raise Refused(f"{numa.BALANCING} cannot be written, so nothing samples which vCPU uses which memory: {why}")
    try:
        return int(Path(_PMD_SIZE).read_text(encoding="ascii"))
    except OSError:
        raise Refused(f"{_PMD_SIZE}: a kernel with transparent huge pages is needed, which copies memory") from None


def reports_free_pages() -> bool:
    """Returns True if a virtio balloon gives free memory back to the host, so that it is placed anew."""
    for device in Path("/sys/bus/virtio/devices").glob("*"):
        try:
            kind, features = ((device / name).read_text(encoding="ascii").strip() for name in ("device", "features"))
        except OSError:
            continue
        if int(kind, 16) == 5 and features[5:6] == "1":  # a balloon; VIRTIO_BALLOON_F_REPORTING
            return True
    return False


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


@dataclass
class Sampling:
    """While it is entered, the kernel samples accesses, as on a machine with several nodes.

    SIGTERM ends the process as SIGINT does, so that the setting is restored.
    """

    before: str = ""
    handler: Any = None

    def __enter__(self) -> None:
        path = Path(numa.BALANCING)
        self.before = path.read_text(encoding="ascii")
        self.handler = signal.signal(signal.SIGTERM, _end)
        path.write_text("1\n", encoding="ascii")

    def __exit__(self, *_: object) -> None:
        Path(numa.BALANCING).write_text(self.before, encoding="ascii")
        signal.signal(signal.SIGTERM, self.handler)


@dataclass
class Uses:
    """Which groups of CPUs use which blocks."""

    group_of: dict[int, int]  # of each CPU
    block: int                # size
    _seen: dict[int, Counter[int]] = field(default_factory=dict)

    def sample(self, page: int, cpu: int) -> None:
        if cpu in self.group_of:
            self._seen.setdefault(page // self.block * self.block, Counter())[self.group_of[cpu]] += 1

    def chosen(self, blocks: Sequence[int]) -> tuple[dict[int, int], int]:
        """Returns a group for each block that was used, and how many of these several groups use.

        Those are spread over all groups in turn.
        """
        found: dict[int, int] = {}
        shared = 0
        count = len(set(self.group_of.values()))
        for block in blocks:
            seen = self._seen.get(block, Counter())
            if seen.total() < ENOUGH:
                continue
            group = max(seen, key=lambda each: seen[each])
            if seen[group] < OWN * seen.total():
                group = shared % count
                shared += 1
            found[block] = group
        return found, shared


def blocks_of(maps: str, size: int) -> Iterator[int]:
    """Yields the blocks that lie in writable memory of a process' own, from its /proc/PID/maps."""
    for line in maps.splitlines():
        words = re.fullmatch(r"(\w+)-(\w+) rw.p \w+ 00:00 0 *(|\[heap\]|\[anon:.*\])", line)
        if words:
            begin, end = (int(word, 16) for word in words.groups()[:2])
            yield from range(-(-begin // size) * size, end - size + 1, size)


def free_bytes(meminfo: str) -> int:
    """Returns how much memory copies may take, from /proc/meminfo."""
    kb = dict(re.findall(r"^(\w+):\s+(\d+) kB$", meminfo, re.M))
    return max(0, int((int(kb["MemFree"]) - SPARE * int(kb["MemTotal"])) * 1024))


class Copier:
    """Copies blocks of a process to other frames of the guest."""

    def __init__(self, pid: int, size: int) -> None:
        self._pid, self._size = pid, size
        self._held: list[mmap.mmap] = []
        try:
            self._process = os.pidfd_open(pid)
            self._pagemap = open(f"/proc/{pid}/pagemap", "rb", buffering=0)  # noqa: SIM115
        except ProcessLookupError:
            raise
        except OSError as error:
            raise Refused(f"process {pid}: {error.strerror}: run as root") from None

    def close(self) -> None:
        """Gives the memory back that was taken meanwhile."""
        for memory in self._held:
            memory.close()
        self._pagemap.close()
        os.close(self._process)

    def _frame(self, address: int) -> int:
        """Returns the number of the page's frame in the guest, 0 if it has none."""
        entry = os.pread(self._pagemap.fileno(), 8, address // mmap.PAGESIZE * 8)
        return int(struct.unpack("<Q", entry)[0]) & ((1 << 55) - 1) if len(entry) == 8 else 0

    def _advise(self, address: int, size: int, advice: int) -> int:
        """Returns 0, or an errno value."""
        vector = struct.pack("<QQ", address, size)
        done = _libc.syscall(_PROCESS_MADVISE, self._process, vector, ctypes.c_ulong(1), advice, 0)
        return 0 if done == size else ctypes.get_errno() or errno.EAGAIN

    def copy(self, block: int, cpus: Sequence[int]) -> str:
        """Copies a block on one of the CPUs. Returns "", or why it was not copied."""
        os.sched_setaffinity(0, cpus)
        before = self._frame(block)
        failure = self._advise(block, self._size, _COLLAPSE)
        if not failure and self._frame(block) == before:
            # It is a huge page already, which the kernel leaves alone. Advice for a part splits it.
            failure = self._advise(block, mmap.PAGESIZE, _COLD) or self._advise(block, self._size, _COLLAPSE)
        if failure == errno.ESRCH:
            raise ProcessLookupError
        if failure:
            return os.strerror(failure)
        if self._frame(block) == before:
            return "stays in its frame"
        self._held.append(mmap.mmap(-1, self._size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _POPULATE))
        return ""
