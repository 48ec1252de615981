# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that allocate and free memory, in C and C++.

Their malloc is Inputs/guard.c, which aborts at a wrong access or free. Built with the
plugin, a program must print the same, hold no more blocks at its end, and lose none if
some allocations fail. Every eighth one runs with AddressSanitizer's allocator instead.
"""

import os
import re

from compare import Found, Skip, call, call_patiently, check_defined, named, reference, same
from generators import heap_loops, heap_pools, heap_ways

SENTENCE = "memory in loops and containers, in C and C++: exceptions, longjmp, cancellation, failing malloc"
LEVELS = ("-O1", "-O3", "-Os", "-Oz", "-Og")
FAILURES = (1, 3, 4, 9, 20)
# Turns of eight seeds. An even seed is in C++, which heap_pools has not.
TURNS = (heap_ways, heap_ways, heap_loops, heap_pools, heap_ways, heap_loops, heap_loops, heap_ways)
REPORT = re.compile(r"^calls (\d+) live (-?\d+)$", re.M)


class Kind:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.guard = os.path.join(folder, "guard.o")
        self.rewrites = 0
        tools.compile(os.path.join(tools.inputs, "guard.c"), self.guard, "-O1", "-fno-builtin", "-c")

    def program(self, seed):
        return TURNS[seed % 8].Program(seed)

    def write(self, seed, folder):
        program = self.program(seed)
        path = os.path.join(folder, f"{seed}.{'cpp' if program.cxx else 'c'}")
        with open(path, "w") as file:
            file.write(program.text())
        return path

    def build(self, source, name, *options):
        path = os.path.join(self.folder, name)
        said = self.tools.compile(source, path, "-fno-strict-aliasing", *options)
        self.rewrites += said.count("[-Rpass=vf-heap-churn]")
        return path

    def judge(self, seed, source, reducing=False):
        program = self.program(seed)
        if reducing:
            check_defined(self.tools, source, self.folder, "-fno-strict-aliasing")
        if seed % 64 // 8 == 5:
            return self.judge_sanitized(seed, source)
        original = self.build(source, "original", "-O0", self.guard)
        before = reference(original)
        if before.status or not REPORT.search(before.err):
            raise Skip(f"status {before.status} without the plugin: {before.err[-300:]}")
        pools = TURNS[seed % 8] is heap_pools
        levels = ["-O2", LEVELS[seed // 2 % len(LEVELS)]]
        if program.cxx:  # Takes three times as long to compile: one level each.
            levels = levels[seed // 16 % 2:][:1]
        for number, level in enumerate(levels):
            drawn = self.tools.drawn(seed, number)
            options = [level, self.guard, *drawn, *self.tools.with_plugin, "-Rpass=vf-heap-churn"]
            # With libvfrt and without: pools come from there.
            options += self.tools.with_runtime if (seed // 8 + number) % 2 else []
            self.compare(seed, before, original, self.build(source, "changed", *options), named(level, drawn), program, pools)
        if seed % 4 == 1:
            self.judge_alone(seed, source, before, original, program)

    def compare(self, seed, before, original, path, how, program, pools):
        after = same(before, path, how, original)
        calls, live = map(int, REPORT.search(before.err).groups())
        said = REPORT.search(after.err)
        if not said:
            raise Found("status", how, f"no report at exit: {after.err}")
        now_calls, now_live = map(int, said.groups())
        if now_live > live:
            raise Found("leaks", how, f"{now_live} blocks are left, {live} without the plugin")
        if now_calls > calls and not pools:
            raise Found("calls", how, f"{now_calls} allocations, {calls} without the plugin")
        for fail_at in (FAILURES[seed % 5], FAILURES[(seed + 2) % 5]):
            env = {"VF_TEST_FAIL_AT": str(fail_at)}
            fails = call_patiently([path], env=env)
            unchanged = call([original], env=env)
            if unchanged.status or unchanged.hangs:
                continue  # Fails by itself without that memory.
            said, unchanged_said = REPORT.search(fails.err), REPORT.search(unchanged.err)
            if fails.status or fails.hangs:
                raise Found("status", f"{how}, VF_TEST_FAIL_AT={fail_at}", f"status {fails.status}: {fails.err[-800:]}")
            if said and unchanged_said and not program.loses and int(said[2]) > max(live, int(unchanged_said[2])):
                raise Found("leaks", f"{how}, VF_TEST_FAIL_AT={fail_at}",
                            f"{said[2]} blocks are left, {unchanged_said[2]} without the plugin")

    def judge_alone(self, seed, source, before, original, program):
        """The pass alone over what is closest to the source, twice."""
        ir, changed = (os.path.join(self.folder, name) for name in ("in.ll", "out.ll"))
        self.tools.compile(source, ir, "-fno-strict-aliasing", "-O1", self.tools.debug(seed), "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm")
        passes = ("inferattrs,function(sroa),cgscc(function-attrs),vf-heap-churn,verify,"
                  "function(verify<domtree>,verify<loops>),vf-heap-churn,verify")
        done = call_patiently(["opt", f"-load-pass-plugin={self.tools.plugin}", "-S", ir, "-o", changed, f"-passes={passes}"])
        if done.status:
            raise Found("compiler", f"opt -passes={passes}", done.err)
        path = os.path.join(self.folder, "changed")
        link = ["-lstdc++"] if program.cxx else []
        self.tools.compile(changed, path, "-O1", self.guard, *link)
        self.compare(seed, before, original, path, "vf-heap-churn alone", program, True)

    def judge_sanitized(self, seed, source):
        options = ["-fsanitize=address", "-fno-sanitize-recover=all", ("-O1", "-O2")[seed % 2]]
        leaks = {"ASAN_OPTIONS": f"detect_leaks={int(not self.program(seed).loses)}"}
        original = self.build(source, "original", *options)
        before = reference(original, env=leaks)
        if before.status:
            raise Skip(f"status {before.status} without the plugin: {before.err[-600:]}")
        changed = self.build(source, "changed", *options, self.tools.debug(seed), *self.tools.with_plugin, "-Rpass=vf-heap-churn")
        same(before, changed, " ".join(options[::2]), original, env=leaks)
