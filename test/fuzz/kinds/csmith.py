# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of Csmith at -O1, -O2 and -O3, with memory and waits added to their blocks.

Their malloc is Inputs/guard.c, and what is added is Inputs/csmith-sites.h.
"""

import os
import random
import re

from compare import Skip, call, check_defined, named, reference, same

SENTENCE = "programs of Csmith at -O1, -O2 and -O3"
LEVELS = ("-O1", "-O2", "-O3")
# Csmith writes it behind the brace of each block of statements.
BLOCK = re.compile(r"\{ /\* block id: (\d+) \*/")
# Memory is up to so large.
SIZE = 64


def add_sites(text, r):
    """Memory that goes with its statements in most blocks, memory that stays in some, a wait in some."""
    # No goto may skip the declaration of a variable with a cleanup.
    weights = (0 if "goto " in text else 4, 1, 1, 2)

    def site(match):
        what = r.choices(("SITE_SCRATCH({id}, {size})", "SITE_KEPT({id}, {size})", "SITE_MEET({id})", ""), weights)[0]
        return f"{match[0]} {what.format(id=match[1], size=r.randrange(1, SIZE))}"
    return '#include "csmith-sites.h"\n' + BLOCK.sub(site, text)


class Kind:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.rewrites = 0
        self.guard = os.path.join(folder, "guard.o")
        tools.compile(os.path.join(tools.inputs, "guard.c"), self.guard, "-O1", "-fno-builtin", "-c")

    def write(self, seed, folder):
        r = random.Random(seed)
        path = os.path.join(folder, f"{seed}.c")
        # Its own defaults give programs of 1,500 lines at times; small ones are as telling.
        options = ["--max-funcs", str(r.randrange(2, 9)), "--max-block-depth", str(r.randrange(2, 5)),
                   "--max-block-size", str(r.randrange(3, 6))]
        if r.randrange(4):
            options.append("--no-jumps")
        done = call(["csmith", "--seed", str(seed), *options, "-o", path],
                    cwd=folder)  # It leaves a platform.info where it is.
        if done.status or done.hangs:
            raise Skip(f"csmith: {done.err}")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(add_sites(text, r))
        return path

    def judge(self, seed, source, reducing=False):
        include = ["-I/usr/include/csmith", f"-I{self.tools.inputs}"]
        if reducing:
            check_defined(self.tools, source, self.folder, *include)
        original = os.path.join(self.folder, "original")
        changed = os.path.join(self.folder, "changed")
        self.tools.compile(source, original, "-O1", *include, self.guard)
        # One in ten never ends; the others take milliseconds.
        before = reference(original, timeout=1.5)
        for number, level in enumerate(LEVELS):
            runtime = self.tools.with_runtime if (seed + number) % 2 else []
            drawn = self.tools.drawn(seed, number)
            said = self.tools.compile(source, changed, level, *include, self.guard, *drawn, *runtime, *self.tools.with_plugin, "-Rpass=vf-.*")
            self.rewrites += said.count("[-Rpass=vf-")
            same(before, changed, named(level, drawn), original)
