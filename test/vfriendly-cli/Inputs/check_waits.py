# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_waits.py FOLDER: machine code of several compilers that waits, and its twins that work."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from project import HERE, TOOL

from vfriendly.measuring import profile as profiles
from vfriendly.measuring.waits import Waits

FOLDER = Path(sys.argv[1])
SOURCE = HERE / "truth" / "waits.cpp"


def found(program):
    """Returns the functions of the source that have an instruction in a loop that waits."""
    waits, names = Waits(), set()
    for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[3].startswith(("wait_", "work_")):
            begin, size = int(words[0], 16), int(words[1], 16)
            code = waits._code(program, begin, begin + size)
            # A loop has two instructions at least. Each is asked for by a disassembly of its own.
            if any(waits.is_wait(program, i.address) for i in code[::2]):
                names.add(words[3])
    return names


def yields(program):
    """A thread that yields until another one has done something spins: in its own code, in libc, and in the kernel."""
    for tier in ((), ("--without-bpf",), ("--without-perf",)):
        file = FOLDER / "yields.json"
        subprocess.run([TOOL, "measure", "-q", *tier, "-o", str(file), "--", program, "wait"], cwd=FOLDER, check=True,
                       capture_output=True)
        mine = [s for s in profiles.read(str(file)).stacks
                if s.what in profiles.ON_CPU and any(f.function == "wait_std_yield" for f in s.frames)]
        spun, all_ = (sum(s.count for s in mine if s.cause == "spinning" or wanted) for wanted in (False, True))
        # The frames of the call's first and last instructions may be incomplete.
        assert all_ > 10 and spun >= 0.9 * all_, (tier, spun, all_)


FOLDER.mkdir(parents=True, exist_ok=True)
WAITS = {"wait_word", "wait_atomic", "wait_pointer", "wait_yield", "wait_std_yield"}
# One compiler may have two names.
compilers = {os.path.realpath(path): name for name in ("clang++", "clang++-22", "g++") if (path := shutil.which(name))}
for compiler in compilers.values():
    for level in ("-O0", "-O1", "-O2"):
        program = str(FOLDER / f"{compiler}{level}")
        subprocess.run([compiler, level, "-g", "-std=c++17", "-pthread", str(SOURCE), "-o", program], check=True)
        assert found(program) == WAITS, (compiler, level, found(program))
# A thread that yields beside other work has a microsecond of CPU time in many milliseconds, and shall have 100 ms of it.
with contextlib.suppress(PermissionError):
    os.setpriority(os.PRIO_PROCESS, 0, -20)
yields(str(FOLDER / "g++-O0"))
