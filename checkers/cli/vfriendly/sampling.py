# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Page faults of a process, and the nodes of its pages, by Linux's system calls.

With automatic NUMA balancing on, the kernel unmaps pages from time to time to see who accesses them.
These faults are counted like all others by a software event, which needs no PMU: guests have it.
"""

import ctypes
import errno
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence

from vfriendly.errors import Refused

# perf_event_open, move_pages
_NUMBERS = {"x86_64": (298, 279), "aarch64": (241, 239), "riscv64": (241, 239)}
_libc = ctypes.CDLL(None, use_errno=True)

PAGE = mmap.PAGESIZE
_MOVE = 2  # MPOL_MF_MOVE
_UNKNOWN = -1

# perf_event_open(2), as of Linux 2.6.32: type, size, config, period, what to sample, read format,
# flags, and the rest, which is not used.
_ATTRIBUTES = struct.Struct("<IIQQQQQ16x")
_SOFTWARE, _PAGE_FAULTS = 1, 2
_TID, _ADDR, _CPU = 1 << 1, 1 << 3, 1 << 7
_USER_ONLY = 1 << 5 | 1 << 6  # exclude_kernel, exclude_hv
_CLOEXEC = 8
# Offsets of data_head and data_tail in the first page of a ring. The other pages hold 2048 samples
# of 32 bytes (with pages of 4 KiB), so samples are lost only if a thread faults more than 20,000
# times a second.
_HEAD, _TAIL = 1024, 1032
_DATA_PAGES = 16
_HEADER = struct.Struct("<IHH")
_SAMPLE = struct.Struct("<IIQII")  # process, thread, address, CPU, unused
_IS_SAMPLE = 9


def _number(index: int) -> int:
    machine = os.uname().machine
    if machine not in _NUMBERS:
        raise Refused(f"the numbers of system calls of {machine} are not known")
    return _NUMBERS[machine][index]


class Faults:
    """The page faults of all threads of a process."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._rings: dict[int, mmap.mmap] = {}
        self.follow()

    def follow(self) -> None:
        """Begins to sample new threads, and ends it for threads that have ended. Raises ProcessLookupError."""
        try:
            threads = {int(t) for t in os.listdir(f"/proc/{self._pid}/task")}
        except OSError:
            threads = set()
        for thread in threads - self._rings.keys():
            try:
                self._rings[thread] = self._ring(thread)
            except ProcessLookupError:
                continue
        for thread in self._rings.keys() - threads:
            self._rings.pop(thread).close()
        if not self._rings:
            raise ProcessLookupError

    def _ring(self, thread: int) -> mmap.mmap:
        attributes = ctypes.create_string_buffer(
            _ATTRIBUTES.pack(_SOFTWARE, _ATTRIBUTES.size, _PAGE_FAULTS, 1, _TID | _ADDR | _CPU, 0, _USER_ONLY))
        file = _libc.syscall(_number(0), attributes, thread, -1, -1, ctypes.c_ulong(_CLOEXEC))
        if file < 0:
            code = ctypes.get_errno()
            if code == errno.ESRCH:
                raise ProcessLookupError
            why = "run as root or with CAP_PERFMON" if code in (errno.EPERM, errno.EACCES) else "perf_event_open"
            raise Refused(f"process {self._pid}: its page faults cannot be sampled: {os.strerror(code)}: {why}")
        try:
            return mmap.mmap(file, (1 + _DATA_PAGES) * PAGE)
        except OSError as error:
            raise Refused(f"process {self._pid}: no memory for samples of {len(self._rings)} threads: "
                          f"{error.strerror}: raise kernel.perf_event_mlock_kb") from None
        finally:
            os.close(file)

    def read(self) -> Iterator[tuple[int, int]]:
        """Yields the page and the CPU of each fault since the last call."""
        for ring in self._rings.values():
            (head,) = struct.unpack_from("<Q", ring, _HEAD)
            (tail,) = struct.unpack_from("<Q", ring, _TAIL)
            size = _DATA_PAGES * PAGE
            data = ring[PAGE:] if head != tail else b""
            data += data  # Records go on at the beginning of the ring.
            while tail < head:
                at = tail % size
                kind, _, length = _HEADER.unpack_from(data, at)
                if kind == _IS_SAMPLE:
                    _, _, address, cpu, _ = _SAMPLE.unpack_from(data, at + _HEADER.size)
                    yield address // PAGE * PAGE, cpu
                tail += length
            struct.pack_into("<Q", ring, _TAIL, head)


def move_pages(pid: int, pages: Sequence[int], to: Sequence[int] | None) -> list[int]:
    """Returns the node of each page, after the move if `to` is given; negative if it has none or was not moved."""
    count = len(pages)
    status = (ctypes.c_int * count)(*[_UNKNOWN] * count)  # The kernel leaves out those that it failed to move.
    targets = (ctypes.c_int * count)(*to) if to is not None else None
    result = _libc.syscall(_number(1), pid, ctypes.c_ulong(count), (ctypes.c_void_p * count)(*pages), targets, status,
                           _MOVE if to is not None else 0)
    if result < 0:
        code = ctypes.get_errno()
        if code == errno.ESRCH:
            raise ProcessLookupError
        raise Refused(f"process {pid}: its pages cannot be moved: {os.strerror(code)}: run as root")
    return list(status)


def places(pid: int, pages: Sequence[int]) -> dict[int, int]:
    """Returns the nodes of pages. Leaves out pages without a node, and those that the kernel samples just now."""
    return {page: node for page, node in zip(pages, move_pages(pid, pages, None), strict=True) if node >= 0}


def move(pid: int, moves: Mapping[int, int]) -> dict[int, int]:
    """Moves pages. Returns those that are on the wanted node afterwards, with this node."""
    if not moves:
        return {}
    status = move_pages(pid, list(moves), list(moves.values()))
    return {page: node for (page, target), node in zip(moves.items(), status, strict=True) if node == target}
