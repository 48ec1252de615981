# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of one thread with loops over all kinds of memory, which end by themselves.

They print the same with the plugin, and after vf-spin-loops in each mode where the loops are
closest to what was written.
"""

import os
import re

from compare import Found, Skip, call_patiently, check_defined, named, reference, same
from generators import spin_loops

SENTENCE = "loops of one thread over atomic, volatile, plain and thread-local memory"
LEVELS = ("-O1", "-O2", "-O3")
MODES = ("block", "pause", "off")
WAIT = re.compile(r"call preserve_mostcc .* @vf_spin_wait(_bounded)?_or_fallback")


class Kind:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.rewrites = 0

    def write(self, seed, folder):
        path = os.path.join(folder, f"{seed}.c")
        with open(path, "w") as file:
            file.write(spin_loops.Program(seed).text())
        return path

    def judge(self, seed, source, reducing=False):
        if reducing:
            check_defined(self.tools, source, self.folder)
        original, changed, ir, out = (os.path.join(self.folder, name) for name in ("original", "changed", "in.ll", "out.ll"))
        self.tools.compile(source, original, "-O0")
        before = reference(original)
        if before.status:
            raise Skip(f"status {before.status} without the plugin")
        for number, level in enumerate(LEVELS):
            drawn = self.tools.drawn(seed, number)
            self.tools.compile(source, changed, level, *drawn, *self.tools.with_plugin)
            same(before, changed, named(level, drawn), original)
        # As -O0 code is, but not marked as never to be optimized.
        self.tools.compile(source, ir, "-O1", self.tools.debug(seed), "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm")
        mode = MODES[seed % len(MODES)]
        passes = f"function(mem2reg),vf-spin-loops<mode={mode}>,verify,vf-spin-loops<mode={mode}>,verify"
        done = call_patiently(["opt", f"-load-pass-plugin={self.tools.plugin}", "-S", ir, "-o", out, f"-passes={passes}"])
        if done.status or done.hangs:
            raise Found("compiler", f"opt -passes={passes}", done.err)
        with open(out) as file:
            self.rewrites += len(WAIT.findall(file.read()))
        self.tools.compile(out, changed, "-O1")
        same(before, changed, f"vf-spin-loops<mode={mode}> alone", original)
