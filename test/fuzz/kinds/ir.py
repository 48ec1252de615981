# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules under -verify-each, every tenth by llvm-stress, half with debug information.

vf-many-opt judges hundreds in one process; a module that ends it, or takes as long as all
together may, is judged again by opt alone.
"""

import os
import shutil

from compare import Found, Skip, call, call_patiently
from generators import modules

SENTENCE = "random control flow over all kinds of memory, and llvm-stress, under -verify-each"
PIPELINES = ("vf-spin-loops", "vf-heap-churn", "vf-default", "vf-spin-loops<mode=pause>", "function(mem2reg),vf-default,vf-default",
             "default<O2>", "vf-heap-churn,function(simplifycfg),vf-spin-loops")
# A module takes a millisecond or two, a long one a second.
SECONDS, SECONDS_ONE = 120, 30


class Kind:
    BATCH = 200

    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.rewrites = self.skipped = 0
        self.many_opt = shutil.copy(os.path.join(tools.build, "bin", "vf-many-opt"), folder)

    def write(self, seed, folder):
        path = os.path.join(folder, f"{seed}.ll")
        if seed % 10 == 3:
            done = call_patiently(["llvm-stress", f"-seed={seed}", f"-size={20 + seed % 180}", "-o", path])
            if done.status or done.hangs:
                raise Skip(f"llvm-stress: {done.err}")
        else:
            with open(path, "w") as file:
                file.write(modules.Module(seed).text())
        return path

    def pipeline(self, seed):
        # Every other turn with a line for each instruction and a variable for each value.
        debug = "debugify," if seed // 10 // len(PIPELINES) % 2 else ""
        return debug + PIPELINES[seed // 10 % len(PIPELINES)]

    def judge(self, seed, source, reducing=False):
        passes = self.pipeline(seed)
        plain = call_patiently(["opt", "-passes=verify" if "vf" in passes else f"-passes={passes}", source, "-o", "/dev/null"], timeout=SECONDS_ONE)
        if plain.status or plain.hangs:
            raise Skip(f"fails without the plugin: {plain.err[:600]}")
        done = call_patiently(["opt", f"-load-pass-plugin={self.tools.plugin}", "-verify-each", f"-passes={passes}", source, "-o", "/dev/null"],
                    timeout=SECONDS_ONE)
        if done.status or done.hangs:
            raise Found("hangs" if done.hangs else "compiler", f"opt -verify-each -passes={passes}", done.err)

    def judge_all(self, sources):
        """Returns {seed: Found}."""
        found, left = {}, list(sources)
        while left:
            done = call([self.many_opt, self.tools.plugin, *(f"{sources[s]}={self.pipeline(s)}" for s in left)], timeout=SECONDS)
            said = done.out.splitlines()
            if done.status == 2 and "many-opt:" in done.err:
                raise SystemExit(done.err)
            ended = bool(said) and said[-1] == "done"
            named = [s for s in left if sources[s] in said]
            # The module that ended the process, and those it reported.
            again = [s for s in named if f"{sources[s]}: error" in said] + ([] if ended else named[-1:] or left[:1])
            for seed in again:
                try:
                    self.judge(seed, sources[seed])
                except Found as what:
                    found[seed] = what
                except Skip:
                    self.skipped += 1
            self.skipped += sum(": invalid" in line for line in said)
            left = [] if ended else [s for s in left if s not in named] if named else left[1:]
        return found

