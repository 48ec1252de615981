# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognizes machine code that waits: a small loop that reads the same memory again and again.

Of the loop around an address, this looks at the instructions, as a program may have no debug
information and libraries have none: no calls, no stores, at most a few instructions, and at
least one read, or atomic exchange, at an address that the loop does not change. A loop that
searches memory changes its address.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass

from vfriendly import tools

# libgomp's wait has 9, test-and-test-and-set locks with a back-off have up to 14.
MOST_INSTRUCTIONS = 16
# Bytes of code around the address: 16 instructions on either side.
_AROUND = 96
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$")
_MEMORY = re.compile(r"(?:%[fg]s:)?-?(?:0x[0-9a-f]+)?\(([^)]*)\)")
_REGISTER = re.compile(r"%\w+")
_READS_ONLY = ("cmp", "test", "bt", "nop", "prefetch")
_EXCHANGES = ("xchg", "cmpxchg", "lock")
_WRITES_ONE = re.compile(r"inc|dec|neg|not|pop|set|sh[lr]|sa[lr]|bswap")
_JUMP = re.compile(r"j\w+$")
# Functions that wait by spinning, where a library has names.
_FUNCTIONS = re.compile(r"pthread_spin_lock|vf_spin_\w+|.*__kmp\w*(wait|barrier_template|hyper_barrier)\w*"
                        r"|(gomp_)?do_(spin|wait)|gomp_(team_)?barrier_wait_end|s_lock|perform_spin_delay")


@dataclass(frozen=True)
class _Instruction:
    address: int
    name: str
    operands: str

    @property
    def written(self) -> str:
        """Returns the last operand, which AT&T's syntax writes to, unless the instruction only reads."""
        if self.name.startswith(_READS_ONLY) or _JUMP.match(self.name):
            return ""
        if "," not in self.operands and not _WRITES_ONE.match(self.name):
            return ""
        return re.split(r",(?![^(]*\))", self.operands)[-1].strip()


def _family(register: str) -> str:
    """Returns one name for %rax, %eax, %ax and %al."""
    name = register.lstrip("%")
    short = re.fullmatch(r"[er]?([abcd])[xlh]|[er]?([sd]i|[sb]p)l?", name)
    if short:
        return (short[1] or short[2])
    return re.sub(r"(r\d+)[dwb]?$", r"\1", name)


def is_wait_function(name: str) -> bool:
    return bool(_FUNCTIONS.fullmatch(name))


class Waits:
    def __init__(self) -> None:
        names = (f"{tools.llvm_bin()}/llvm-objdump", "llvm-objdump", "objdump")
        self._tool = next(filter(None, map(shutil.which, names)), None)
        self._known: dict[tuple[str, int], bool] = {}

    @property
    def missing(self) -> str:
        return "" if self._tool else "time in loops that wait, but in functions of known names: apt-get install binutils"

    def is_wait(self, module: str, offset: int) -> bool:
        """Returns True if the instruction at the address is part of a loop that waits."""
        key = (module, offset)
        if key not in self._known:
            self._known[key] = bool(self._tool) and _waits(self._code(module, offset), offset)
        return self._known[key]

    def _code(self, module: str, offset: int) -> list[_Instruction]:
        assert self._tool
        done = subprocess.run(
            [self._tool, "-d", "--no-show-raw-insn", f"--start-address={max(0, offset - _AROUND):#x}",
             f"--stop-address={offset + _AROUND:#x}", module],
            capture_output=True, text=True, errors="replace", check=False)
        found = (_LINE.match(line.split("<")[0].split("#")[0]) for line in done.stdout.splitlines())
        return [_Instruction(int(m[1], 16), m[2], (m[3] or "").strip()) for m in found if m]


def _waits(code: list[_Instruction], address: int) -> bool:
    loops = []
    for i in code:
        if _JUMP.match(i.name) and re.fullmatch(r"(0x)?[0-9a-f]+", i.operands):
            target = int(i.operands, 16)
            if target <= address <= i.address:
                loops.append((target, i.address))
    for begin, end in sorted(loops, key=lambda loop: loop[1] - loop[0]):
        if _only_waits([i for i in code if begin <= i.address <= end]):
            return True
    return False


def _only_waits(loop: list[_Instruction]) -> bool:
    if not 0 < len(loop) <= MOST_INSTRUCTIONS:
        return False
    changed, reads = set[str](), list[str]()
    for i in loop:
        exchange = i.name.startswith(_EXCHANGES)
        if i.name.startswith(("call", "ret", "syscall", "push", "rep")):
            return False
        written = i.written
        memory = _MEMORY.search(i.operands)
        if memory and written and _MEMORY.fullmatch(written) and not exchange:
            return False  # a store
        if memory and not i.name.startswith(("lea", "nop", "prefetch")):
            reads.append(memory[1])
        if written and not _MEMORY.search(written):
            changed |= {_family(r) for r in _REGISTER.findall(written)}
    return any(not {_family(r) for r in _REGISTER.findall(read)} & changed for read in reads)
