# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random instructions in the emulator of libvfspin.so, against single steps of the processor: differs.c of
test/spin-unmodified."""

import os

from compare import Found, call

SENTENCE = "random instructions, the emulator of libvfspin.so against the processor"
# Programs are not reduced: each difference is of one instruction, which is printed.
REDUCES = False
CASES = 20000  # of one to three instructions: a second
TIMEOUT = 600  # on a busy machine
SOURCES = ("machine", "emulate", "memory", "decode_x86_64")


class Kind:
    def __init__(self, tools, folder):
        self.rewrites = 0  # Nothing is rewritten.
        self.program = os.path.join(folder, "differs")
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
        runtime = os.path.join(root, "runtime")
        include = [f"-I{runtime}", *(f"-I{runtime}/platform/{name}" for name in ("x86-64", "generic"))]
        tools.compile(os.path.join(root, "test", "spin-unmodified", "differs.c"), self.program, "-D_GNU_SOURCE", "-O1", *include,
                      *(f"{runtime}/spin-unmodified/{name}.c" for name in SOURCES), "-l:libcapstone.a")

    def write(self, seed, folder):
        path = os.path.join(folder, f"{seed}.txt")
        with open(path, "w") as file:
            file.write(f"{seed}\n")
        return path

    def judge(self, seed, source, reducing=False):
        with open(source) as file:
            done = call([self.program, str(CASES), file.read().strip()], TIMEOUT)
        if done.hangs or done.status:
            raise Found("hangs" if done.hangs else "differs", "libvfspin", done.out[-2000:])
