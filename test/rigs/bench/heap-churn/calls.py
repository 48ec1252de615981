# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""System calls that can interrupt other CPUs, as strace saw them.

That are those that take a page, or a right to it, from memory that is neither a file's
(the loader's) nor a thread's stack (libc's): what an allocator decides. Before there is a
second thread, no other CPU runs the process, so that none is interrupted.
"""

import json
import re
import tempfile
from collections import Counter

import measure

# mmap tells whose memory it is, and takes what it is put over; clone begins threads.
CALLS = ("madvise", "process_madvise", "munmap", "mprotect", "mremap", "brk", "mmap", "clone", "clone3")
# Advice that takes pages; others let it grow, or move it.
TAKING = {"MADV_DONTNEED", "MADV_FREE", "MADV_REMOVE", "MADV_DONTNEED_LOCKED", "MADV_COLD", "MADV_PAGEOUT"}

# A run that strace slows down to more than that is counted up to there.
COUNT_S = 30

LINE = re.compile(r"(\d+) +(.*)")
CALL = re.compile(r"(\w+)\((.*)\) += +(0x[0-9a-f]+|-?\d+)")
UNFINISHED, RESUMED = " <unfinished ...>", re.compile(r"<\.\.\. \w+ resumed>(.*)")


class Others:
    """Memory that is no allocator's: of files, and of stacks."""

    def __init__(self):
        self.ranges = set()

    def add(self, begin, size):
        self.ranges.add((begin, begin + size))

    def __contains__(self, address):
        return any(begin <= address < end for begin, end in self.ranges)

    def drop(self, begin, size):
        self.ranges = {(b, e) for b, e in self.ranges if b < begin or e > begin + size}


def finished(lines):
    """The call of each line, those that strace broke in two put together."""
    begun = {}
    for line in lines:
        found = LINE.match(line)
        if not found:
            continue
        thread, call = found.group(1), found.group(2).rstrip()
        resumed = RESUMED.match(call)
        if call.endswith(UNFINISHED):
            begun[thread] = call.removesuffix(UNFINISHED)
        elif resumed and thread in begun:
            yield begun.pop(thread) + resumed.group(1)
        elif not resumed:
            yield call


def takes(name, words, result, others):
    """Whether a call takes memory that is not others'."""
    if name == "process_madvise":
        return bool(TAKING.intersection(words))
    begin = 0 if words[0] == "NULL" else int(words[0], 0)
    if begin in others:
        return False
    if name == "mmap":
        return "MAP_FIXED" in words[3].split("|")
    if name == "madvise":
        return words[2] in TAKING
    if name == "mprotect":
        return "PROT_WRITE" not in words[2].split("|")
    if name == "mremap":
        return result != begin or int(words[2], 0) < int(words[1], 0)
    return True


def count(lines):
    """How many calls of each kind took something."""
    taken, others, end, threads = Counter(), Others(), 0, False
    for text in finished(lines):
        found = CALL.match(text)
        if not found or found.group(3).startswith("-"):
            continue
        name, result = found.group(1), int(found.group(3), 0)
        words = [w.strip() for w in found.group(2).split(",")]
        if name.startswith("clone"):
            threads |= "CLONE_THREAD" in text
            continue
        if name == "brk":
            took, end = result < end, result
        else:
            took = takes(name, words, result, others)
        if took and threads:
            taken[name] += 1
        if name == "mmap" and not took and (words[4] != "-1" or "MAP_STACK" in words[3].split("|")):
            others.add(result, int(words[1], 0))
        elif name == "munmap":
            others.drop(int(words[0], 0), int(words[1], 0))
    return taken


def ours(errors):
    """What libvfmalloc said of itself at exit; {} of other allocators."""
    for line in errors.splitlines():
        if line.startswith('{"vfmalloc"'):
            return json.loads(line)["vfmalloc"]
    return {}


def run(ready, environment):
    """The calls by kind and what libvfmalloc says, in a run of its own, which strace slows
    down. Of one that was killed after COUNT_S the calls are a lower bound: `more`; one that
    failed counts nothing."""
    variables = {**ready.environment, **environment, "VF_STATS": "1"}
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as trace:
        tracing = ["strace", "-f", "--seccomp-bpf", "-qq", "-o", trace.name, "-e", "trace=" + ",".join(CALLS)]
        for name, value in variables.items():
            tracing += ["-E", f"{name}={value}"]
        one = measure.run([*tracing, *ready.command], COUNT_S, folder=ready.folder, feed=ready.feed,
                          beside=(lambda pid: ready.client()) if ready.client else None)
        taken = count(trace)
    if one.status == "failed":
        return {"calls": None, "uncounted": one.errors.strip()[-200:]}
    return {"calls": sum(taken.values()), "by_call": dict(taken), "more": one.status == "timeout",
            "returns": ours(one.errors).get("returns")}
