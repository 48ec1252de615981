# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples a program by a library in it, libvfsample.so: needs no privilege, and no perf events.

Each thread samples itself by a timer of its CPU time, into a file that is mapped here as well; see
checkers/cli/measure/sample.c.
"""

import mmap
import os
import re
import struct
import tempfile
from collections.abc import Mapping, Sequence

from vfriendly import programs, tools
from vfriendly.errors import Refused
from vfriendly.measuring import samples
from vfriendly.measuring.processes import Processes
from vfriendly.remedies import Remedy

PERIOD_S = 0.004
# Before, a signal of a timer of CPU time could end a system call of the program.
OLDEST = (5, 11)
# 250 samples a second of each thread that runs: enough for 64 CPUs between two looks, and for a look that is 1 s late.
SLOTS = 4096
_HEADER, _HEAD = 4096, struct.Struct("<QQQ")
_SLOT = struct.Struct(f"<IIIIQII{samples.REGISTERS}Q")
_STACK = 2048
_SIZE = _SLOT.size + _STACK
FREE, _WRITTEN, _READY = range(3)


class Unavailable(Exception):
    """The library cannot be used; the text says why."""


def kernel() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Ring:
    """A file of slots that a preloaded library fills in a command and its children, and that is read here."""

    library, variable, magic, slots, size = "", "", 0, 0, 0

    def __init__(self, spool: samples.Spool, processes: Processes, command: Sequence[str]) -> None:
        """Raises Unavailable."""
        try:
            why = programs.why_not_preloaded(programs.find(command))
            self._library = tools.library(self.library, None, "VFRIENDLY_LIB=FOLDER, not --library")
        except Refused as error:
            raise Unavailable(str(error)) from None
        if why:
            raise Unavailable(why)
        self._spool, self._processes = spool, processes
        # In memory, if possible: the first write to each page of a file on a disk tells the file system.
        folder = "/dev/shm" if os.access("/dev/shm", os.W_OK | os.X_OK) else None
        self._file = tempfile.NamedTemporaryFile(prefix="vfriendly-ring-", dir=folder)  # noqa: SIM115 (lives as long)
        size = _HEADER + self.slots * self.size
        try:
            # A hole in the file would end the program where the disk is full.
            os.posix_fallocate(self._file.fileno(), 0, size)
        except OSError as error:
            raise Unavailable(f"{self._file.name}: {size >> 20} MiB: {error.strerror}") from None
        self._ring = mmap.mmap(self._file.fileno(), size)
        self._ring[:8] = self.magic.to_bytes(8, "little")
        self._next, self._late = 0, set[int]()
        self._last_ns = 0
        self.looks_at_mappings = True  # False if something else tells of them

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        return Remedy("", "", (self._library,), {self.variable: self._file.name}).environment(given)

    @property
    def lost(self) -> int:
        return int(_HEAD.unpack_from(self._ring)[2])

    def read(self, family: Sequence[int]) -> None:
        """Takes the samples that are there, and looks what the processes have mapped."""
        for process in family:
            self._look_at_mappings(process)
        self._last_ns = samples.now_ns()
        end = _HEAD.unpack_from(self._ring)[1]
        begin = max(self._next, end - self.slots)
        self._next = end
        # What is being written now is taken next time; a process may have been killed while it wrote.
        self._late = {i for i in self._late | {n % self.slots for n in range(begin, end)} if self._take(i)}

    def _take(self, index: int) -> bool:
        """Takes a sample; returns True if it is not complete yet."""
        raise NotImplementedError

    def _add(self, at: int, record: bytes, process: int) -> None:
        """Keeps the record of the slot, which is free then."""
        self._ring[at:at + 4] = FREE.to_bytes(4, "little")
        if not self._processes.was_looked_at(process):
            self._look_at_mappings(process)
        self._spool.add(record)

    def _look_at_mappings(self, process: int) -> None:
        # Code that was mapped since the last look may have samples since then.
        if self.looks_at_mappings:
            self._processes.look(process, self._last_ns)


class Preloaded(Ring):
    """Reads the samples of threads."""

    library, variable, magic, slots, size = "libvfsample.so", "VF_SAMPLE", 0x31656c706d617376, SLOTS, _SIZE

    def __init__(self, spool: samples.Spool, processes: Processes, command: Sequence[str]) -> None:
        """Raises Unavailable."""
        if kernel() < OLDEST:
            raise Unavailable(f"needs Linux {OLDEST[0]}.{OLDEST[1]}, where the timer's signals end no system calls")
        super().__init__(spool, processes, command)
        self._most_periods = 0

    @property
    def longest_s(self) -> float:
        """The most CPU time that one sample stands for: the kernel sees the end of a period only at its next tick."""
        return self._most_periods * PERIOD_S

    def _take(self, index: int) -> bool:
        at = _HEADER + index * _SIZE
        state, process, thread, each, ns, size, cpu, *registers = _SLOT.unpack_from(self._ring, at)
        if state != _READY:
            return bool(state == _WRITTEN)
        stack = self._ring[at + _SLOT.size:at + _SLOT.size + min(size, _STACK)]
        kernel = self._is_after_call(process, registers[samples.IP])
        call = samples.SOME_CALL if kernel else -1
        self._most_periods = max(self._most_periods, each)
        record = samples.record(samples.CPU, each, process, thread, ns, call, kernel, registers, stack, cpu=cpu)
        self._add(at, record, process)
        return False

    @staticmethod
    def _is_after_call(process: int, ip: int) -> bool:
        """Returns True if the thread was in a system call: its signal came at the end of it."""
        try:
            with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
                memory.seek(ip - len(samples.SYSCALL))
                return memory.read(len(samples.SYSCALL)) == samples.SYSCALL
        except (OSError, ValueError, OverflowError):
            return False
