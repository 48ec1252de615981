# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests in guests share: programs, and the guest they run in."""

import os
import subprocess
import sys

INPUTS = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(INPUTS, "..", "..", "rigs"))

from guest import packages  # noqa: E402

OMP = "/usr/lib/llvm-22/lib"
# No more vCPUs than this machine has CPUs: parallel faults of more took 5 to 13 s.
CPUS = 2
# Else the kernel moves pages by itself, and move_pages does not see those that it samples.
NOBODY_ELSE = "echo 0 > /proc/sys/kernel/numa_balancing"
# Threads that stay where they are, one a CPU.
BOUND = f"export OMP_PLACES=threads OMP_PROC_BIND=close OMP_NUM_THREADS={CPUS}"


class Rig:
    def __init__(self, source, build, out):
        self.source, self.build, self.out = source, build, out
        os.makedirs(out, exist_ok=True)
        cache = os.path.join(build, "guest")
        self.qemu, self.busybox = packages.qemu(), packages.busybox(cache)
        self.kernel = packages.kernel(cache)

    def file(self, name):
        return os.path.join(self.out, name)

    def lib(self, name):
        return os.path.join(self.build, "lib", name)

    def compiled(self, name, source=None, flags=(), runtime=True):
        """A program of Inputs, or another, with OpenMP."""
        linked = [self.lib("vfrt-link.o"), self.lib("libvfrt.a")] if runtime else []
        subprocess.run(
            ["clang", "-O2", "-Wall", "-Wextra", "-Werror", "-fopenmp", f"-Wl,-rpath,{OMP}",
             "-I", os.path.join(self.source, "runtime", "include"),
             "-I", os.path.join(self.source, "test", "rigs", "guest", "Inputs"), *flags,
             "-o", self.file(name), source or os.path.join(INPUTS, f"{name}.c"), *linked],
            check=True)
        return self.file(name)
