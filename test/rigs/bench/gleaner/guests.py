# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guests of a guest that run programs without and with the daemon. The outer guest is emulated:
counts mean something, ratios of one boot too, times do not."""

import glob
import os
import sys

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", ".."))
from guest import TRIES, Broken, emulator, machine, nested, packages, until_whole  # noqa: E402

# With fewer CPUs than the inner guest has, its vCPUs preempt each other.
L1_CPUS = 2
SAID = "the daemon: "
STATIC = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static", "-pthread")
# What the daemon decided at last. Windows of a trial that goes on are left out.
TELL = f"""grep -v "gleaner: trying" /said | tail -n 8 | sed 's/^/{SAID}/'"""


def static_gleaner(source, clang, out):
    """Guests have no libraries."""
    runtime = os.path.join(source, "runtime")
    bench.build([clang, *STATIC, "-I", runtime, "-I", os.path.join(runtime, "platform", "x86-64"),
                 *glob.glob(os.path.join(runtime, "gleaner", "*.c")),
                 os.path.join(runtime, "platform", "linux", "cpu_groups.c"), "-lm", "-o", out])
    return out


def say_broken(error, again):
    print(f"bench gleaner: {'once more, as ' if again else ''}{error}", file=sys.stderr, flush=True)


class Rig:
    def __init__(self, tree, folder, one_thread=False):
        self.one_thread = one_thread  # of the emulator, see machine.ONE_THREAD
        cache = os.path.join(tree.build, "guest")
        clang = tree.tool("clang")
        # The mended one takes minutes to build, once.
        self.qemu = emulator.qemu(tree.build)
        self.kernel, self.busybox = packages.kernel(cache), packages.busybox(cache)
        self.folder, self.vmm = folder, nested.build_vmm(clang, folder)
        self.files = {"gleaner": static_gleaner(tree.source, clang, os.path.join(folder, "gleaner-guest"))}
        for name in ("pingpong", "locks"):
            self.files[name] = nested.compile_program(
                os.path.join(HERE, f"{name}.c"), os.path.join(folder, f"{name}-guest"), clang, ['-DMARK="mark.h"'])

    def boot(self, cpus, script, heard, **outer):
        """Boots a guest, and calls heard with the result of each of the script's programs as it ends. Raises Broken
        if the guest breaks off. outer: see nested.write."""
        initrd = nested.write(self.folder, self.kernel, self.busybox, self.vmm, cpus, self.files, script, **outer)
        counter = nested.Counter()

        def seen(line):
            if counter.line(line):
                heard(counter.runs()[-1])
            if line.startswith(SAID):
                print(line, file=sys.stderr, flush=True)

        nested.check(machine.boot(self.qemu, self.kernel.image, initrd, L1_CPUS, nested.L1_MEGABYTES,
                                  name=nested.L1, seen=seen, one_thread=self.one_thread))

    def run(self, cpus, script, **outer):
        """Returns the results of the script's programs, all of one boot."""

        def attempt():
            results = []
            self.boot(cpus, script, results.append, **outer)
            return results

        return until_whole(attempt, say_broken)

    def run_cells(self, cpus, cells, script, results_of_each, heard):
        """Runs script(cells) until each cell has had its results: after a boot that breaks off, the next does
        what is left. Calls heard(cell, results) for each, and returns the cells that broke TRIES boots."""
        left, lost, tries = list(cells), [], TRIES
        while left:
            before, results = len(left), []

            def collect(run):
                results.append(run)
                if len(results) == results_of_each:
                    heard(left.pop(0), results[:])
                    results.clear()

            try:
                self.boot(cpus, script(left), collect)
            except Broken as error:
                tries = TRIES - 1 if len(left) < before else tries - 1
                say_broken(error, tries > 0)
                if not left:
                    break
                if not tries:
                    lost.append(left.pop(0))
                    tries = TRIES
            else:
                if left:
                    raise Broken(f"the guest ended without results of {left[0]}")
        return lost
