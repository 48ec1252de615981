# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that wait through calls and locals: waits that yield, and unoptimized ones.

Unoptimized code keeps everything on the stack and calls a function for std::atomic's load. Such a
loop waits if all that it reads outside of its frame is at addresses that do not change, it stores
only in its frame, no local lives from one iteration to the next (a counter, a sum), and what it calls
yields, or does nothing but the same.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

MEMORY = re.compile(r"(?:%[fg]s:)?-?(?:0x[0-9a-f]+)?\(([^)]*)\)")
REGISTER = re.compile(r"%\w+")
EXCHANGES = ("xchg", "cmpxchg", "lock")
JUMP = re.compile(r"j\w+$")
_READS_ONLY = ("cmp", "test", "bt", "nop", "prefetch")
_WRITES_ONE = re.compile(r"inc|dec|neg|not|pop|set|sh[lr]|sa[lr]|bswap")
# Instructions of a loop: g++ -O0 has 9 for a wait of std::atomic with a yield.
_MOST = 40
# Bytes of a called function, and calls within calls: std::atomic<T>::load of g++ -O0 has 180 and 2.
LONGEST, _DEEPEST = 512, 4
_YIELDS = re.compile(r"(__|_*GI_)?sched_yield(@.*)?|thrd_yield(@.*)?|pthread_yield(@.*)?|_ZNSt11this_thread5yield.*")
# These do not return: the code of exceptions that are not thrown.
_ENDS = re.compile(r"__clang_call_terminate|(_ZSt9terminatev|_Unwind_Resume|abort|__stack_chk_fail)(@.*)?")
_FRAME = re.compile(r"-0x[0-9a-f]+\(%rbp\)|(0x[0-9a-f]+)?\(%rsp\)")
COPIES = re.compile(r"mov([bwlq]|abs|[sz][bwl][wlq]?)?$")
_CLOBBERED = frozenset({"a", "c", "d", "si", "di", "r8", "r9", "r10", "r11"})

Function = Callable[[int], "list[Instruction]"]


@dataclass(frozen=True)
class Instruction:
    address: int
    name: str
    operands: str
    symbol: str = ""  # that a call or jump names

    @property
    def written(self) -> str:
        """Returns the last operand, which AT&T's syntax writes to, unless the instruction only reads."""
        if self.name.startswith(_READS_ONLY) or JUMP.match(self.name):
            return ""
        if "," not in self.operands and not _WRITES_ONE.match(self.name):
            return ""
        return self.parts[-1]

    @property
    def parts(self) -> list[str]:
        return [part.strip() for part in re.split(r",(?![^(]*\))", self.operands)]

    @property
    def target(self) -> int | None:
        return int(self.operands, 16) if re.fullmatch(r"(0x)?[0-9a-f]+", self.operands) else None


def family(register: str) -> str:
    """Returns one name for %rax, %eax, %ax and %al."""
    name = register.lstrip("%")
    short = re.fullmatch(r"[er]?([abcd])[xlh]|[er]?([sd]i|[sb]p)l?", name)
    if short:
        return (short[1] or short[2])
    return re.sub(r"(r\d+)[dwb]?$", r"\1", name)


def function(code: list[Instruction]) -> list[Instruction]:
    """Returns the instructions up to the function's end: a return that no jump passes; [] if there is none."""
    furthest = 0
    for n, i in enumerate(code):
        if JUMP.match(i.name) and i.target is not None:
            furthest = max(furthest, i.target)
        if i.name.startswith("ret") and i.address >= furthest:
            return code[:n + 1]
    return []


class _Loop:
    """Walks a loop, or a function that it calls, in the order of its addresses."""

    def __init__(self, code: list[Instruction], functions: Function, depth: int, changing: set[str]) -> None:
        self.code, self._functions, self._depth = code, functions, depth
        self.polls = False
        self._changing = changing  # registers that may have another value in each iteration
        self._stored = {i.written for i in code if _FRAME.fullmatch(i.written)}
        # Slots of the frame that this iteration has stored already, and whether with the same value as the others.
        self._now: dict[str, bool] = {}

    def only_waits(self) -> bool:
        return all(self._take(i) for i in self.code)

    def _take(self, i: Instruction) -> bool:
        if i.name.startswith("call"):
            return self._call(i)
        if i.name.startswith(("syscall", "rep")) or (JUMP.match(i.name) and i.target is None):
            return False
        if i.name.startswith(("ret", "leave", "push", "pop", "endbr", "nop", "pause")) or JUMP.match(i.name):
            return bool(self._depth) or not i.name.startswith(("ret", "leave", "push", "pop"))
        written = i.written
        sources = i.parts[:-1] if written else i.parts
        fixed = all(self._read(i, part) for part in sources if MEMORY.fullmatch(part) and not i.name.startswith("lea"))
        if not fixed:
            return False
        if MEMORY.fullmatch(written):
            return self._store(i, written)
        if written:
            self._set(i, written, sources)
        return True

    def _is_fixed(self, operand: str) -> bool:
        return not {family(r) for r in REGISTER.findall(operand)} & self._changing

    def _read(self, _i: Instruction, part: str) -> bool:
        """Returns False for what no wait reads: memory at another address each time, what the last iteration stored."""
        if _FRAME.fullmatch(part):
            return part not in self._stored or part in self._now
        self.polls |= self._is_fixed(part)
        return self._is_fixed(part)

    def _store(self, i: Instruction, part: str) -> bool:
        if i.name.startswith(EXCHANGES):
            return self._read(i, part)
        if not _FRAME.fullmatch(part) or not COPIES.match(i.name):
            return False
        self._now[part] = all(self._is_same(s) for s in i.parts[:-1])
        return True

    def _set(self, i: Instruction, register: str, sources: list[str]) -> None:
        if i.name.startswith("lea"):
            same = all(self._is_fixed(s) for s in sources)
        else:
            same = bool(COPIES.match(i.name)) and all(self._is_same(s) for s in sources)
        (self._changing.discard if same else self._changing.add)(family(register))

    def _is_same(self, operand: str) -> bool:
        """Returns True if the operand has the same value in each iteration. Of memory, only the frame may be."""
        if _FRAME.fullmatch(operand):
            return operand not in self._stored or self._now.get(operand, False)
        return not MEMORY.fullmatch(operand) and self._is_fixed(operand)

    def _call(self, i: Instruction) -> bool:
        if not _YIELDS.fullmatch(i.symbol) and not _ENDS.fullmatch(i.symbol):
            code = self._functions(i.target) if i.target is not None and self._depth < _DEEPEST else []
            if not code or any(JUMP.match(j.name) and j.target is not None and j.target <= j.address for j in code):
                return False
            inner = _Loop(code, self._functions, self._depth + 1, set(self._changing))
            if not inner.only_waits():
                return False
            self.polls |= inner.polls
        self._changing |= _CLOBBERED
        return True


def only_waits(code: list[Instruction], functions: Function) -> bool:
    """Returns True for a loop with calls or locals that only waits; `functions` returns the code at an address."""
    if not 0 < len(code) <= _MOST:
        return False
    written = {family(r) for i in code for r in REGISTER.findall(i.written) if not MEMORY.search(i.written)}
    calls = any(i.name.startswith("call") for i in code)
    loop = _Loop(code, functions, 0, written | (_CLOBBERED if calls else set()))
    return loop.only_waits() and loop.polls
