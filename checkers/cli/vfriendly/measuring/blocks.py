# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of memory that a program allocates, sampled by a library in it, libvfblocks.so, and added up by place.

See checkers/cli/measure/blocks.c.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from vfriendly.measuring import allocators, samples
from vfriendly.measuring.preloading import FREE, Ring
from vfriendly.measuring.profile import Profile, Stack, is_system
from vfriendly.measuring.symbols import Frame

# The first 256 blocks are all sampled, and a block stays in its slot until it is freed or this time is over.
_SLOTS = 8192
_LIVES_NS = 1_000_000_000
_HEADER = 4096
_SLOT = struct.Struct(f"<IIIIQQQQQQII{samples.REGISTERS}Q")
_STACK = 2048
_WRITTEN, _LIVE, _READY = 1, 2, 3
# Blocks that a thread allocates before it frees this one: with fewer, the caller could keep one block for all.
_FEW = 32


class Blocks(Ring):
    """Reads what the library writes in a command and its children."""

    library, variable, magic = "libvfblocks.so", "VF_BLOCKS", 0x31736b636f6c6276
    slots, size = _SLOTS, _SLOT.size + _STACK

    def read(self, family: Iterable[int], last: bool = False) -> None:
        """Takes the blocks that were freed, and those that have lived for long; at the last time, all."""
        self._since = samples.now_ns() - (0 if last else _LIVES_NS)
        super().read(list(family))

    def _take(self, index: int) -> bool:
        at = _HEADER + index * self.size
        (state, process, thread, each, ns, size, length, _, since, _, freed_by, _, *registers) = \
            _SLOT.unpack_from(self._ring, at)
        if state == FREE:
            return False
        if state == _WRITTEN or (state == _LIVE and ns > self._since):
            return True
        fate = samples.KEPT if state == _LIVE else samples.PASSED if freed_by != thread else \
            samples.TEMPORARY if since < _FEW else samples.FREED
        stack = self._ring[at + _SLOT.size:at + _SLOT.size + min(size, _STACK)]
        self._add(at, samples.memory(each, process, thread, ns, registers, stack, length, fate), process)
        return False


@dataclass
class MemoryPlace:
    """What is allocated at a line of the program's own code."""

    frame: Frame
    blocks: float = 0
    bytes: float = 0
    temporary: float = 0
    passed: float = 0
    kept: float = 0

    def add(self, s: Stack) -> None:
        self.blocks += s.count
        self.bytes += s.bytes
        self.temporary += s.count if s.call == "temporary" else 0
        self.passed += s.count if s.call == "passed" else 0
        self.kept += s.count if s.call == "kept" else 0


def caller(s: Stack) -> Frame | None:
    """Returns for what the block is: the first frame outside of allocators, their wrappers and libraries."""
    own = [f for f in s.frames if f.module and not is_system(f.module)]
    return allocators.caller(own) or next((f for f in own if f.file), None)


def places(profile: Profile) -> list[MemoryPlace]:
    """Returns the places that allocate, those of the most blocks first."""
    found: dict[tuple[str, int, str], MemoryPlace] = {}
    for s in profile.stacks:
        frame = caller(s) if s.what == "memory" else None
        if frame:
            found.setdefault((frame.file, frame.line, frame.function), MemoryPlace(frame)).add(s)
    return sorted(found.values(), key=lambda p: (-p.blocks, -p.bytes, p.frame.file, p.frame.line))
