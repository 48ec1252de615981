# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Csmith at -O1, -O2 and -O3."""

import os
import random

from compare import Skip, call, check_defined, reference, same

SENTENCE = "programs of Csmith at -O1, -O2 and -O3"
LEVELS = ("-O1", "-O2", "-O3")


class Kind:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.rewrites = 0

    def write(self, seed, folder):
        r = random.Random(seed)
        path = os.path.join(folder, f"{seed}.c")
        # Its own defaults give programs of 1,500 lines at times; small ones are as telling.
        options = ["--max-funcs", str(r.randrange(2, 9)), "--max-block-depth", str(r.randrange(2, 5)),
                   "--max-block-size", str(r.randrange(3, 6))]
        done = call(["csmith", "--seed", str(seed), *options, "-o", path],
                    cwd=folder)  # It leaves a platform.info where it is.
        if done.status or done.hangs:
            raise Skip(f"csmith: {done.err}")
        return path

    def judge(self, seed, source, reducing=False):
        include = "-I/usr/include/csmith"
        if reducing:
            check_defined(self.tools, source, self.folder, include)
        original = os.path.join(self.folder, "original")
        changed = os.path.join(self.folder, "changed")
        self.tools.compile(source, original, "-O1", include)
        # One in ten never ends; the others take milliseconds.
        before = reference(original, timeout=1.5)
        for level in LEVELS:
            said = self.tools.compile(source, changed, level, include, *self.tools.with_plugin, "-Rpass=vf-.*")
            self.rewrites += said.count("[-Rpass=vf-")
            same(before, changed, level, original)
