# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recognizes machine code that waits: a small loop that reads the same memory again and again.

Of the loop around an address, this looks at the instructions, as a program may have no debug
information and libraries have none: no calls, no stores, at most a few instructions, and at
least one read, or atomic exchange, at an address that the loop does not change. A loop that
searches memory changes its address. Loops that yield, and those of unoptimized code, are for
called_waits.py.
"""

import re
import shutil
import subprocess

from vfriendly import tools
from vfriendly.measuring import called_waits
from vfriendly.measuring.called_waits import Instruction

# libgomp's wait has 9, test-and-test-and-set locks with a back-off have up to 14.
MOST_INSTRUCTIONS = 16
# Bytes of code on either side of an address: 16 instructions. They are disassembled for all addresses of a block at
# once, as those of a loop are close together, and the tool takes longer to start than to read them.
_AROUND, _BLOCK = 96, 64
_SECONDS = 20  # maximum time for the code at one address
_LINE = re.compile(r"^\s*([0-9a-f]+):\s+(\S+)(?:\s+(.*))?$")
_SYMBOL = re.compile(r"<([^>+]+)>$")
# Functions that wait by spinning, where a library has names.
_FUNCTIONS = re.compile(r"pthread_spin_lock|(__)?sched_yield|vf_spin_\w+"
                        r"|.*__kmp\w*(wait|barrier_template|hyper_barrier)\w*"
                        r"|(gomp_)?do_(spin|wait)|gomp_(team_)?barrier_wait_end|s_lock|perform_spin_delay")


def is_wait_function(name: str) -> bool:
    return bool(_FUNCTIONS.fullmatch(name))


class Waits:
    def __init__(self) -> None:
        names = (f"{tools.llvm_bin()}/llvm-objdump", *(f"llvm-objdump{end}" for end in ("-22", "-19", "")), "objdump")
        self._tool = next(filter(None, map(shutil.which, names)), None)
        self._known: dict[tuple[str, int], bool] = {}
        self._loops = set[tuple[str, int, int]]()  # that wait: module, first and last instruction
        self._codes: dict[tuple[str, int, int], list[Instruction]] = {}

    @property
    def missing(self) -> str:
        missing = "time in loops that wait, but in functions of known names: apt-get install binutils"
        return "" if self._tool else missing

    def is_wait(self, module: str, offset: int) -> bool:
        """Returns True if the instruction at the address is part of a loop that waits."""
        key = (module, offset)
        if key not in self._known:
            self._known[key] = bool(self._tool) and self._waits(module, offset)
        return self._known[key]

    def is_in_known(self, module: str, offset: int) -> bool:
        """Returns True if the address is in a loop that is_wait has found to wait. Examines nothing."""
        return any(module == m and first <= offset <= last for m, first, last in self._loops)

    def _waits(self, module: str, offset: int) -> bool:
        block = offset & -_BLOCK
        around = loops_around(self._code(module, max(0, block - _AROUND), block + _BLOCK + _AROUND), offset)
        loop = next((each for each in around if _only_waits(each)
                     or called_waits.only_waits(each, lambda at: self._function(module, at))), None)
        if loop:
            self._loops.add((module, loop[0].address, loop[-1].address))
        return bool(loop)

    def _function(self, module: str, offset: int) -> list[Instruction]:
        return called_waits.function(self._code(module, offset, offset + called_waits.LONGEST))

    def _code(self, module: str, begin: int, end: int) -> list[Instruction]:
        key = (module, begin, end)
        if key not in self._codes:
            self._codes[key] = self._disassembled(module, begin, end)
        return self._codes[key]

    def _disassembled(self, module: str, begin: int, end: int) -> list[Instruction]:
        assert self._tool
        try:
            done = subprocess.run([self._tool, "-d", "--no-show-raw-insn", f"--start-address={begin:#x}",
                                   f"--stop-address={end:#x}", module],
                                  capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return []  # the file of the process is not what it was
        return parse(done.stdout)


def parse(text: str) -> list[Instruction]:
    """Returns the instructions of what objdump prints."""
    found = []
    for line in text.splitlines():
        m = _LINE.match(line.split("#")[0].split("<")[0])
        if m:
            symbol = _SYMBOL.search(line.split("#")[0].strip()) if m[2].startswith(("call", "jmp")) else None
            found.append(Instruction(int(m[1], 16), m[2], (m[3] or "").strip(), symbol[1] if symbol else ""))
    return found


def loops_around(code: list[Instruction], address: int) -> list[list[Instruction]]:
    """Returns the loops around an address, the shortest first."""
    loops = []
    for i in code:
        if called_waits.JUMP.match(i.name) and re.fullmatch(r"(0x)?[0-9a-f]+", i.operands):
            target = int(i.operands, 16)
            if target <= address <= i.address:
                loops.append((target, i.address))
    return [[i for i in code if begin <= i.address <= end]
            for begin, end in sorted(loops, key=lambda loop: loop[1] - loop[0])]


def _only_waits(loop: list[Instruction]) -> bool:
    if not 0 < len(loop) <= MOST_INSTRUCTIONS:
        return False
    changed, reads = set[str](), list[str]()
    computed = _computed(loop)
    for i in loop:
        exchange = i.name.startswith(called_waits.EXCHANGES)
        if i.name.startswith(("call", "ret", "syscall", "push", "rep")):
            return False
        written = i.written
        memory = called_waits.MEMORY.search(i.operands)
        if memory and written and called_waits.MEMORY.fullmatch(written) and not exchange:
            return False  # a store
        if memory and not i.name.startswith(("lea", "nop", "prefetch")):
            reads.append(memory[1])
        if written and not called_waits.MEMORY.search(written):
            changed |= {called_waits.family(r) for r in called_waits.REGISTER.findall(written)}
    addresses = [{called_waits.family(r) for r in called_waits.REGISTER.findall(read)} for read in reads]
    return any(not a & changed for a in addresses) and not any(a & computed for a in addresses)


def _computed(loop: list[Instruction]) -> set[str]:
    """Returns the registers that the loop computes, as opposed to what it reads: an index of a search is one."""
    found = set[str]()
    for _ in range(2):  # A copy may stand before what it copies.
        for i in loop:
            written = i.written
            if not written or called_waits.MEMORY.search(written):
                continue
            sources = {called_waits.family(r) for part in i.parts[:-1] for r in called_waits.REGISTER.findall(part)}
            if not called_waits.COPIES.match(i.name) or sources & found:
                found |= {called_waits.family(r) for r in called_waits.REGISTER.findall(written)}
    return found
