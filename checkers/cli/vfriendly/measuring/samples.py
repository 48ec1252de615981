# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples of registers and stacks: how they are kept until the program has ended, and what they become."""

import random
import struct
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# The kinds of events; the same numbers as in checkers/cli/measure/collect.bpf.h.
CPU, BLOCK, PREEMPT, WAKE, SHOOTDOWN, FAULT, DELAY, IDLE_WAKE, SPAN = range(1, 10)
SYSCALL = b"\x0f\x05"  # the instruction of x86-64
SOME_CALL = -2  # a system call whose number is not known
LOOK = 10  # a thread that was seen to block, in /proc
MEMORY = 11  # a block of memory that was allocated
NAMES = {CPU: "cpu", BLOCK: "block", PREEMPT: "preempted", WAKE: "wake", SHOOTDOWN: "shootdown", FAULT: "fault",
         DELAY: "delay", IDLE_WAKE: "idle wake"}
# Registers are in the order of DWARF on x86-64, then the instruction pointer.
SP, BP, IP, REGISTERS = 7, 6, 16, 17
_HEAD = struct.Struct("<IIIIQq")
_SAMPLE = struct.Struct(f"<HHI{REGISTERS}Q")
NO_CPU = 0xffff  # in a record: it is not known on which one it was
_SPAN = struct.Struct("<QQ")
_MEMORY = struct.Struct("<QI")
# What became of a block of memory.
KEPT, TEMPORARY, FREED, PASSED = range(4)
# Bytes of samples on disk, some 60,000; then half of them are dropped, and half of those to come.
MOST_BYTES = 256 << 20


@dataclass
class Sample:
    kind: int
    weight: float  # how many events it stands for
    process: int
    thread: int
    ns: int
    call: int  # number of the system call, SOME_CALL, or -1
    cpu: int = NO_CPU
    kernel: bool = False
    registers: tuple[int, ...] = ()
    stack: bytes = b""
    blocked_ns: int = 0
    delay_ns: int = 0  # between the wake-up and the run
    frames: list[int] = field(default_factory=list)
    bytes: int = 0  # of a block of memory
    fate: int = KEPT


class Spool:
    """Keeps records as they come, since unwinding takes time that the program shall have."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as this)
        self._size, self._keep, self.count = 0, 1.0, 0
        self._source = random.Random(1)

    def add(self, record: bytes) -> None:
        if self._keep < 1 and self._source.random() >= self._keep:
            return
        self._file.write(len(record).to_bytes(4, "little") + struct.pack("<d", 1 / self._keep) + record)
        self._size += len(record) + 12
        self.count += 1
        if self._size > MOST_BYTES:
            self._thin()

    def _thin(self) -> None:
        kept = [(weight, record) for weight, record in self._records() if self._source.random() < 0.5]
        self._keep /= 2
        self._file.seek(0)
        self._file.truncate()
        self._size = self.count = 0
        for weight, record in kept:
            self._file.write(len(record).to_bytes(4, "little") + struct.pack("<d", 2 * weight) + record)
            self._size += len(record) + 12
            self.count += 1

    def _records(self) -> Iterator[tuple[float, bytes]]:
        self._file.seek(0)
        while head := self._file.read(12):
            (weight,) = struct.unpack_from("<d", head, 4)
            yield weight, self._file.read(int.from_bytes(head[:4], "little"))
        self._file.seek(0, 2)

    def samples(self) -> Iterator[Sample]:
        """Yields the samples. A block has its time if its end was seen."""
        open_blocks: dict[tuple[int, int], Sample] = {}
        for weight, record in self._records():
            kind, each, process, thread, ns, call = _HEAD.unpack_from(record)
            if kind == SPAN:
                block = open_blocks.pop((thread, ns), None)
                if block:
                    block.blocked_ns, block.delay_ns = _SPAN.unpack_from(record, _HEAD.size)
                    yield block
                continue
            kernel, cpu, size, *registers = _SAMPLE.unpack_from(record, _HEAD.size)
            begin = _HEAD.size + _SAMPLE.size
            sample = Sample(kind, each * weight, process, thread, ns, call, cpu, bool(kernel), tuple(registers),
                            record[begin:begin + size])
            if kind == LOOK:
                # It says nothing about how often the thread blocks.
                (sample.blocked_ns,) = struct.unpack_from("<Q", record, len(record) - 8)
                sample.kind, sample.blocked_ns, sample.weight = BLOCK, int(sample.blocked_ns * sample.weight), 0
                yield sample
            elif kind == MEMORY:
                sample.bytes, sample.fate = _MEMORY.unpack_from(record, len(record) - _MEMORY.size)
                yield sample
            elif kind == BLOCK:
                open_blocks[thread, ns] = sample
            else:
                yield sample
        yield from open_blocks.values()


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def record(kind: int, each: int, process: int, thread: int, ns: int, call: int, kernel: bool, registers: Sequence[int],
           stack: bytes, blocked_ns: int = 0, cpu: int = NO_CPU) -> bytes:
    """Returns a record of the same form as the collector in the kernel writes."""
    return (_HEAD.pack(kind, each, process, thread, ns, call)
            + _SAMPLE.pack(kernel, min(cpu, NO_CPU), len(stack), *registers) + stack
            + (blocked_ns.to_bytes(8, "little") if kind == LOOK else b""))


def memory(each: int, process: int, thread: int, ns: int, registers: Sequence[int], stack: bytes, size: int,
           fate: int) -> bytes:
    """Returns a record of a block of memory."""
    return record(MEMORY, each, process, thread, ns, -1, False, registers, stack) + _MEMORY.pack(size, fate)


def trimmed(record: bytes) -> bytes:
    """Returns a record without the part of the stack that was not copied."""
    (kind,) = struct.unpack_from("<I", record)
    if kind == SPAN:
        return record[:_HEAD.size + _SPAN.size]
    (size,) = struct.unpack_from("<I", record, _HEAD.size + 4)
    return record[:_HEAD.size + _SAMPLE.size + size]
