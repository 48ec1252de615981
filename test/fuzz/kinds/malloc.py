# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads that allocate with libvfmalloc.so: Inputs/allocator.c, in random circumstances.

A program is a shell script: how many arenas and threads there are, which sizes, one CPU or
all, limits of memory, which of the preloaded libraries, and what else the threads do.
"""

import os
import random
import shutil

from compare import Found, Skip, call

SENTENCE = "threads, forks and limits with libvfmalloc.so: hangs, crashes, changed blocks"
# Programs are not reduced: the script says all.
REDUCES = False
# Sizes up to: thread caches, extents, the caches of CPUs, blocks that are moved.
SIZES = (100, 2000, 20000, 200000, 2000000, 20000000)
STEPS = 24000  # of all threads: a few tenths of a second
# A program that hangs once may not hang again, so this is for a busy machine, too.
TIMEOUT = 60
OPTIONS = ("background_thread:true", "tcache:false", "percpu_arena:percpu", "zero:true", "dirty_decay_ms:0",
           "retain:true", "lg_tcache_max:16", "oversize_threshold:1048576")


def _script(seed):
    draw = random.Random(seed)
    lines = ["#!/bin/sh"]
    conf = []
    arenas = draw.choice((1, 1, 2, 2, 3, 4, None, None))
    if arenas:
        conf.append(f"narenas:{arenas}")
    if draw.random() < 0.2:
        conf.append(draw.choice(OPTIONS))
    if conf:
        lines.append(f"export MALLOC_CONF={','.join(conf)}")
    if draw.random() < 0.2:
        lines.append(f"export VF_MALLOC_TUNE_PERCENT={draw.choice((0, 10, 1000))}")
    # At, below and above the number of arenas: four for each CPU, if not told.
    around = arenas or 4 * len(os.sched_getaffinity(0))
    threads = draw.choice((1, 2, max(around - 1, 1), around, around + 1, 2 * around, 3 * around))
    ways = "".join(way for way in "efkpto" if draw.random() < 0.3) or "-"
    steps = STEPS // threads
    sizes = draw.choice(SIZES)
    if draw.random() < 0.25:
        lines.append(f"ulimit -v {draw.choice((60, 120, 300)) * 1024 + threads * 9000}")
    cpu = f"taskset -c {sorted(os.sched_getaffinity(0))[-1]} " if draw.random() < 0.3 else ""
    lines.append(f'LD_PRELOAD="{"$ALL" if draw.random() < 0.2 else "$MALLOC"}" exec {cpu}"$ALLOCATOR" {seed} {threads} {steps} {sizes} {ways}')
    return "\n".join(lines) + "\n"


class Kind:
    def __init__(self, tools, folder):
        self.tools, self.folder = tools, folder
        self.rewrites = 0  # Nothing is rewritten.
        self.allocator = os.path.join(folder, "allocator")
        tools.compile(os.path.join(tools.inputs, "allocator.c"), self.allocator, "-O1", "-D_GNU_SOURCE", "-fno-builtin")
        built = os.path.join(tools.build, "lib")
        malloc, *others = (shutil.copy(file, tools.lib) for file in (
            tools.malloc or os.path.join(built, "libvfmalloc.so"), os.path.join(built, "libvfnuma.so"),
            os.path.join(built, "libvfpthread.so")))
        self.env = {"ALLOCATOR": self.allocator, "MALLOC": malloc, "ALL": ":".join([*others, malloc])}

    def write(self, seed, folder):
        path = os.path.join(folder, f"{seed}.sh")
        with open(path, "w") as file:
            file.write(_script(seed))
        return path

    def judge(self, seed, source, reducing=False):
        done = call(["sh", source], TIMEOUT, self.env)
        if done.hangs:
            raise Found("hangs", "libvfmalloc", done.err)
        if done.status or done.out != "done\n":
            # libc itself may have no memory for what the program needs besides blocks.
            if "ulimit" in open(source).read() and call(["sh", source], TIMEOUT, {**self.env, "MALLOC": "", "ALL": ""}).status:
                raise Skip("fails with libc's malloc, too")
            raise Found("status", "libvfmalloc", f"status {done.status}\n{done.err[-800:]}")
