# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the other kinds after clang-tidy --fix: they compile, and do the same.

Each has functions that it does not call, too: generators/extremes.py.
"""

import os
import shutil

from compare import Found, Skip, call_patiently, reference, same
from generators import extremes, heap_loops, heap_ways, spin_loops, threads
from kinds.heap import REPORT

SENTENCE = "what clang-tidy --fix makes of such programs"
TURNS = (threads, heap_loops, spin_loops, heap_ways)


class Kind:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.guard = os.path.join(folder, "guard.o")
        self.rewrites = 0
        tools.compile(os.path.join(tools.inputs, "guard.c"), self.guard, "-O1", "-fno-builtin", "-c")

    def write(self, seed, folder):
        # Both languages come to each turn.
        program = TURNS[seed % 4].Program(seed // 4)
        path = os.path.join(folder, f"{seed}.{'cpp' if getattr(program, 'cxx', False) else 'c'}")
        with open(path, "w") as file:
            file.write(extremes.Functions(seed, path.endswith("pp")).around(program.text()))
        return path

    def judge(self, seed, source, reducing=False):
        heap = TURNS[seed % 4] in (heap_loops, heap_ways)
        options = ["-O1", f"-I{self.tools.include}", *([self.guard] if heap else [])]
        original, changed = (os.path.join(self.folder, name) for name in ("original", "changed"))
        self.tools.compile(source, original, *options)
        before = reference(original)
        if before.status:
            raise Skip(f"status {before.status} before the fix: {before.err[-300:]}")
        fixed = shutil.copy(source, os.path.join(self.folder, "fixed" + os.path.splitext(source)[1]))
        standard = "-std=c++17" if fixed.endswith(".cpp") else "-std=gnu11"
        done = call_patiently(["clang-tidy", f"--load={self.tools.tidy}", "--checks=-*,vfriendly-*", "--fix", "--quiet", fixed, "--", standard, "-w"], timeout=60)
        if done.hangs or done.status:
            raise Found("compiler", "clang-tidy --fix", done.out[-800:] + done.err[-800:])
        with open(source) as one, open(fixed) as other:
            if one.read() == other.read():
                return
        self.rewrites += 1
        try:
            self.tools.compile(fixed, changed, *options, *self.tools.with_runtime)
        except Skip as why:
            raise Found("fix", "clang-tidy --fix", f"does not compile any more: {why}") from None
        after = same(before, changed, "clang-tidy --fix", original)
        if heap and int(REPORT.search(after.err)[2]) > int(REPORT.search(before.err)[2]):
            raise Found("leaks", "clang-tidy --fix", f"{after.err[-100:]}, before {before.err[-100:]}")
