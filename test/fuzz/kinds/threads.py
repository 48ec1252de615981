# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of threads and processes that wait for each other.

Each is built with the plugin and run with libvfrt and without it, every third also with
Inputs/strict.c, a runtime in which a wait that was promised a notify ends by nothing else.
Under ThreadSanitizer, every fourth must check the same accesses as without the plugin.
"""

import os
import re
from collections import Counter

from compare import Found, Skip, call, named, reference, same
from generators import threads

SENTENCE = "flags, barriers, locks, retries, queues, signals, timers, processes"
LEVELS = ("-O2", "-O1", "-O3", "-Os")
WAIT = "vf_spin_wait_or_fallback"


class Kind:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.rewrites = 0
        self.strict = os.path.join(folder, "strict.o")
        tools.compile(os.path.join(tools.inputs, "strict.c"), self.strict, "-O1", f"-I{tools.include}", "-c")

    def write(self, seed, folder):
        path = os.path.join(folder, f"{seed}.c")
        with open(path, "w") as file:
            file.write(threads.Program(seed).text())
        return path

    def judge(self, seed, source, reducing=False):
        if reducing:
            # A reducer likes to remove what ends a wait; data races are part of some programs.
            self.tools.compile(source, os.path.join(self.folder, "checked"), "-Werror=return-type", "-Werror=uninitialized", "-O1")
        original, changed = (os.path.join(self.folder, name) for name in ("original", "changed"))
        level = LEVELS[seed % len(LEVELS)]
        self.tools.compile(source, original, level)
        before = reference(original, timeout=10)
        if before.status:
            raise Skip(f"status {before.status} without the plugin: {before.err[-300:]}")
        plugin = [*self.tools.with_plugin, "-Rpass=vf-spin-loops"]
        drawn = self.tools.drawn(seed)
        said = self.tools.compile(source, changed, level, *drawn, *plugin, *self.tools.with_runtime)
        self.rewrites += said.count("[-Rpass=vf-spin-loops]")
        same(before, changed, f"{named(level, drawn)}, libvfrt", original)
        other = LEVELS[(seed // 4 + 1) % len(LEVELS)]
        drawn = self.tools.drawn(seed, 1)
        self.tools.compile(source, changed, other, *drawn, *plugin)
        same(before, changed, f"{named(other, drawn)}, without libvfrt", original)
        if seed % 3 == 0 or reducing:
            self.judge_promises(seed, source, other)
        if seed % 4 == 0 or reducing:
            self.judge_sanitized(source)

    def judge_promises(self, seed, source, level):
        changed = os.path.join(self.folder, "changed")
        self.tools.compile(source, changed, level, self.tools.debug(seed), *self.tools.with_plugin, self.strict)
        done = call([changed])
        if "strict: a promised notify never came" in done.err:
            raise Found("promise", f"{level}, strict runtime", done.err)

    def judge_sanitized(self, source):
        """What ThreadSanitizer checks must not change: a store made atomic hides a race."""
        checks = []
        for options in ([], self.tools.with_plugin):
            ir = os.path.join(self.folder, "sanitized.ll")
            self.tools.compile(source, ir, "-O1", "-fsanitize=thread", "-S", "-emit-llvm", *options)
            with open(ir) as file:
                text = file.read()
            # The last operand of an atomic one is its order.
            checks.append(Counter(re.findall(r"call \S+ @(__tsan_(?:atomic|read|write|unaligned|volatile)\w*\(.*?(?:i32 \d+\))?$)", re.sub(r"%[\w.]+|![\w.]+", "", text), re.M)))
        if checks[0] != checks[1]:
            raise Found("sanitizer", "-O1 -fsanitize=thread", f"less: {dict(checks[0] - checks[1])}, more: {dict(checks[1] - checks[0])}")
