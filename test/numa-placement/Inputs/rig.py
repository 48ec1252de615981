# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests in guests share: programs, and the guest they run in."""

import os
import subprocess
import sys

INPUTS = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(INPUTS, "..", "..", "rigs"))

from guest import machine, nested, packages  # noqa: E402

OMP = "/usr/lib/llvm-22/lib"
# No more vCPUs than this machine has CPUs: parallel faults of more took 5 to 13 s.
CPUS = 2
# Else the kernel moves pages by itself, and move_pages does not see those that it samples.
NOBODY_ELSE = "echo 0 > /proc/sys/kernel/numa_balancing"
# Of the machine in which a guest that sees one node runs.
NODES = 2
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

    def opaque_guest(self, files, script, prefix):
        """Boots a guest that sees one node, in one that has two. Yields what its programs say of each
        case, and the pages of each node that the host gave for it."""
        vmm = nested.build_vmm("clang", self.out)
        initrd = nested.write(self.out, self.kernel, self.busybox, vmm, CPUS, files, script,
                              counters=[nested.NODES], prefix=prefix)
        counter = nested.Counter()
        nested.check(machine.boot(self.qemu, self.kernel.image, initrd, CPUS, nested.L1_MEGABYTES, name=nested.L1,
                                  seen=counter.line, nodes=NODES))
        for result in counter.results:
            found = result["exits"].get("counter", {})
            yield result, [found.get(f"N{node}", 0) for node in range(NODES)]
