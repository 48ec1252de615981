# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be seen without BPF: perf events of a program and its children, and /proc.

Software events count exactly; of frequent ones, 1 in PERIOD is sampled. An ordinary user sees user
space only: time on CPUs and page faults. Where threads block is then read from /proc, from time to time.
"""

import errno
import fcntl
import os
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vfriendly.measuring import hints, perf, samples
from vfriendly.measuring.processes import Processes
from vfriendly.measuring.samples import Spool

# Half of BPF's rate, and half of the stack, as the ring is small.
CLOCK_HZ = 499
# The ring of a CPU holds 113 samples, and a program may fault 10,000 times between two looks at it.
PERIODS = {samples.BLOCK: 23, samples.FAULT: 97, samples.SHOOTDOWN: 23}
# 64 pages per CPU are within what every user may lock (kernel.perf_event_mlock_kb).
_PAGES = 64
_STACK = 2048
_SET_OUTPUT, _SET_FILTER, _ID = 0x2405, 0x40082406, 0x80082407
_KERNEL = 1  # of the lowest bits of misc
# perf's registers ax bx cx dx si di bp sp ip r8 … r15, and where DWARF has them.
_REGISTERS = 0x1ff | 0xff << 16
_TO_DWARF = (0, 3, 2, 1, 4, 5, 6, 7, 16, *range(8, 16))
# Threads looked at each time: a look takes some 30 µs.
_MOST_THREADS = 64
# Not the period: the kernel would give a sample for every event, with the period 1.
_FIELDS = perf.S_TID | perf.S_TIME | perf.S_ID | perf.S_REGS_USER | perf.S_STACK_USER
# They end a record that is no sample: thread, time and number of the event, 8 bytes each.
_TIME_AT = 16


@dataclass
class _Event:
    kind: int
    files: list[int] = field(default_factory=list)

    def count(self) -> int:
        return sum(struct.unpack("<Q", os.read(file, 8))[0] for file in self.files)


class PerfEvents:
    """Follows the threads given, and those that they create."""

    name = "perf events"

    def __init__(self, spool: Spool, processes: Processes, threads: Sequence[int], from_exec: bool) -> None:
        """Raises OSError if this user can have no event at all."""
        self._spool, self._processes, self.missing = spool, processes, list[str]()
        self._events: list[_Event] = []
        self._rings: list[tuple[int, perf.Ring]] = []  # of each CPU
        self._first: dict[tuple[int, int], int] = {}  # file of the ring of thread and CPU
        self._kind_of: dict[int, int] = {}
        self.lost = 0
        self._flags = perf.INHERIT | perf.SAMPLE_ID_ALL | perf.USE_CLOCKID | perf.EXCLUDE_HV
        if from_exec:
            self._flags |= perf.DISABLED | perf.ENABLE_ON_EXEC
        self._user_only = 0  # the attribute's flag
        clock = perf.Attributes(perf.SOFTWARE, perf.CPU_CLOCK, CLOCK_HZ)
        try:
            self._add(samples.CPU, clock, threads, perf.FREQ)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM):
                raise
            self._user_only = perf.EXCLUDE_KERNEL
            self._add(samples.CPU, clock, threads, perf.FREQ)
            self.missing.append(f"time in the kernel, blocks and wake-ups by line: {hints.of_kernel_time()}")
        self._add(samples.FAULT, perf.Attributes(perf.SOFTWARE, perf.PAGE_FAULTS, PERIODS[samples.FAULT]), threads)
        if not self._user_only:
            switches = perf.Attributes(perf.SOFTWARE, perf.CONTEXT_SWITCHES, PERIODS[samples.BLOCK])
            self._add(samples.BLOCK, switches, threads)
            self._shootdowns(threads)
        else:
            self.missing.append(f"TLB shootdowns: {hints.of_tracepoints(errno.EACCES)}")
        self.blocked = Blocked(spool)

    @property
    def user_only(self) -> bool:
        return bool(self._user_only)

    def _shootdowns(self, threads: Sequence[int]) -> None:
        code = errno.ENOENT
        for root in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
            try:
                number = int(Path(root, "events/tlb/tlb_flush/id").read_text())
                event = self._add(samples.SHOOTDOWN,
                                  perf.Attributes(perf.TRACEPOINT, number, PERIODS[samples.SHOOTDOWN]), threads)
                for file in event.files:
                    fcntl.ioctl(file, _SET_FILTER, b"reason == 4\0")
                return
            except OSError as error:
                code = error.errno if error.errno in (errno.EPERM, errno.EACCES) else code
        self.missing.append(f"TLB shootdowns: {hints.of_tracepoints(code)}")

    def _add(self, kind: int, what: perf.Attributes, threads: Sequence[int], more: int = 0) -> _Event:
        event = _Event(kind)
        attributes = perf.Attributes(what.kind, what.config, what.period, _FIELDS,
                                     self._flags | self._user_only | more, _REGISTERS, _STACK)
        # The first event also tells of mappings, of new programs and processes.
        if not self._events:
            attributes.flags |= perf.MMAP | perf.MMAP2 | perf.COMM | perf.COMM_EXEC | perf.TASK
        for thread in threads:
            for cpu in perf.online_cpus():
                try:
                    file = perf.open_event(attributes, thread, cpu)
                except ProcessLookupError:
                    continue
                if (thread, cpu) in self._first:
                    fcntl.ioctl(file, _SET_OUTPUT, self._first[thread, cpu])
                else:
                    self._first[thread, cpu] = file
                    self._rings.append((cpu, perf.Ring(file, _PAGES)))
                event.files.append(file)
                (number,) = struct.unpack("<Q", fcntl.ioctl(file, _ID, b"\0" * 8))
                self._kind_of[number] = kind
        self._events.append(event)
        return event

    def poll(self, family: Sequence[int]) -> None:
        others = []
        for cpu, record in ((cpu, record) for cpu, ring in self._rings for record in ring.read()):
            kind, misc, body = record
            if kind == perf.R_SAMPLE:
                self._sample(misc, body, cpu)
            elif kind == perf.R_LOST:
                self.lost += struct.unpack_from("<QQ", body)[1]
            else:
                others.append(record)
        self._processes.record_all(others, _TIME_AT)
        if self._user_only:
            self.blocked.look(family)

    def _sample(self, misc: int, body: bytes, cpu: int) -> None:
        process, thread, ns, number, abi = struct.unpack_from("<IIQQQ", body)
        kind = self._kind_of.get(number, samples.CPU)
        if not abi:
            return
        at = struct.calcsize("<IIQQQ")
        values = struct.unpack_from("<17Q", body, at)
        at += 17 * 8
        (size,) = struct.unpack_from("<Q", body, at)
        used = struct.unpack_from("<Q", body, at + 8 + size)[0] if size else 0
        registers = [0] * samples.REGISTERS
        for value, where in zip(values, _TO_DWARF, strict=True):
            registers[where] = value
        kernel = misc & 7 == _KERNEL
        self._spool.add(samples.record(kind, PERIODS.get(kind, 1), process, thread, ns, -1, kernel, registers,
                                       body[at + 8:at + 8 + used], cpu=cpu))

    def counts(self) -> dict[str, int]:
        return {samples.NAMES[e.kind]: e.count() for e in self._events if e.kind != samples.CPU}


class Blocked:
    """Looks at the threads of processes in /proc, to see in which calls they block."""

    def __init__(self, spool: Spool) -> None:
        self._spool, self._next = spool, 0
        self._looked, self._refused, self._last_s = False, "", time.monotonic()

    @property
    def missing(self) -> str:
        """Returns why no thread could be looked at, or ""."""
        return f"the time in blocks: {self._refused}" if self._refused and not self._looked else ""

    def look(self, family: Sequence[int]) -> None:
        """Each thread that blocks has done so since the last look."""
        now = time.monotonic()
        seconds, self._last_s = now - self._last_s, now
        threads = []
        for process in family:
            try:
                threads += [(process, int(t)) for t in os.listdir(f"/proc/{process}/task")]
            except OSError:
                continue
        if not threads:
            return
        count = min(len(threads), _MOST_THREADS)
        weight = seconds * len(threads) / count
        for i in range(count):
            self._one(*threads[(self._next + i) % len(threads)], weight)
        self._next += count

    def _one(self, process: int, thread: int, seconds: float) -> None:
        try:
            words = Path(f"/proc/{process}/task/{thread}/syscall").read_text().split()
            self._looked = True
            if len(words) < 3 or words[0] == "-1":
                return  # It runs, or is in no call.
            call, sp, ip = int(words[0]), int(words[-2], 16), int(words[-1], 16)
            with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
                memory.seek(sp)
                stack = memory.read(_STACK)
        except PermissionError as error:
            self._refused = f"{error.filename or '/proc'}: {error.strerror}, as for a debugger: measure as root"
            return
        except (OSError, ValueError):
            return
        registers = [0] * samples.REGISTERS
        registers[samples.SP], registers[samples.IP] = sp, ip
        self._spool.add(samples.record(samples.LOOK, 1, process, thread, samples.now_ns(), call, True, registers, stack,
                                       int(seconds * 1e9)))
