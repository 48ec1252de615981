# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""perf_event_open(2) and the rings of its events, by ctypes."""

import ctypes
import mmap
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NUMBER = 298  # x86-64, whose registers are sampled
_libc = ctypes.CDLL(None, use_errno=True)
_CLOEXEC = 8
_HEADER = struct.Struct("<IHH")
_HEAD, _TAIL = 1024, 1032  # data_head and data_tail in the first page of a ring

SOFTWARE, TRACEPOINT = 1, 2
CPU_CLOCK, TASK_CLOCK, PAGE_FAULTS, CONTEXT_SWITCHES, DUMMY = 0, 1, 2, 3, 9
# Bits of the attribute's flags.
DISABLED, INHERIT, EXCLUDE_KERNEL, EXCLUDE_HV = 1 << 0, 1 << 1, 1 << 5, 1 << 6
MMAP, COMM, FREQ, ENABLE_ON_EXEC, TASK, SAMPLE_ID_ALL = 1 << 8, 1 << 9, 1 << 10, 1 << 12, 1 << 13, 1 << 18
EXCLUDE_CALLCHAIN_KERNEL, MMAP2, COMM_EXEC, USE_CLOCKID = 1 << 21, 1 << 23, 1 << 24, 1 << 25
# What a sample has.
S_TID, S_TIME, S_ID, S_REGS_USER, S_STACK_USER = 1 << 1, 1 << 2, 1 << 6, 1 << 12, 1 << 13
MONOTONIC = 1
R_LOST, R_COMM, R_EXIT, R_FORK, R_SAMPLE, R_MMAP2 = 2, 3, 4, 7, 9, 10
EXECUTES = 1 << 13  # in misc of R_COMM


@dataclass
class Attributes:
    """struct perf_event_attr, as of Linux 4.1."""

    kind: int
    config: int
    period: int = 0
    sample: int = 0
    flags: int = 0
    registers: int = 0
    stack: int = 0

    def pack(self) -> bytes:
        return struct.pack("<IIQQQQQIIQQQQIiQIHH", self.kind, 112, self.config, self.period, self.sample, 0,
                           self.flags, 1, 0, 0, 0, 0, self.registers, self.stack, MONOTONIC, 0, 0, 0, 0)


def online_cpus() -> list[int]:
    """Returns the numbers of the CPUs that have events: they have gaps where CPUs are off."""
    found: list[int] = []
    for part in Path("/sys/devices/system/cpu/online").read_text().strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def open_event(attributes: Attributes, process: int, cpu: int) -> int:
    """Returns a file descriptor. Raises OSError."""
    packed = ctypes.create_string_buffer(attributes.pack(), 112)
    file = _libc.syscall(_NUMBER, packed, process, cpu, -1, ctypes.c_ulong(_CLOEXEC))
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(file)


class Ring:
    """The records of an event."""

    def __init__(self, file: int, pages: int) -> None:
        self._size = pages * mmap.PAGESIZE
        self._ring = mmap.mmap(file, mmap.PAGESIZE + self._size)

    def read(self) -> Iterator[tuple[int, int, bytes]]:
        """Yields kind, misc and body of each record since the last call."""
        (head,) = struct.unpack_from("<Q", self._ring, _HEAD)
        (tail,) = struct.unpack_from("<Q", self._ring, _TAIL)
        if head == tail:
            return
        begin, end = tail % self._size + mmap.PAGESIZE, head % self._size + mmap.PAGESIZE
        data = self._ring[begin:end] if begin < end else self._ring[begin:] + self._ring[mmap.PAGESIZE:end]
        struct.pack_into("<Q", self._ring, _TAIL, head)
        at = 0
        while at < len(data):
            kind, misc, size = _HEADER.unpack_from(data, at)
            if not size:
                break
            yield kind, misc, data[at + _HEADER.size:at + size]
            at += size
