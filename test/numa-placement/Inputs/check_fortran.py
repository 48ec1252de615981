# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_fortran.py SOURCE BUILD OUT: boots a guest of two nodes and runs sum.f90 in it, compiled
without and with the pass. Prints the share of its array's pages on each node."""

import os
import subprocess
import sys

from rig import BOUND, CPUS, INPUTS, NOBODY_ELSE, OMP, Rig

from guest import initramfs, machine

MEGABYTES, NODES = 1024, 2

rig = Rig(*sys.argv[1:])


def compiled(name, flags=()):
    helper = rig.file("print_nodes.o")
    subprocess.run(["clang", "-O2", "-Wall", "-Wextra", "-Werror", "-c", os.path.join(INPUTS, "print_nodes.c"), "-o", helper], check=True)
    subprocess.run(
        ["flang-22", "-O2", "-fopenmp", f"-Wl,-rpath,{OMP}", *flags, os.path.join(INPUTS, "sum.f90"), helper,
         rig.lib("vfrt-link.o"), rig.lib("libvfrt.a"), "-o", rig.file(name)], check=True)
    return rig.file(name)


programs = {"before": compiled("before"),
            "after": compiled("after", [f"-fpass-plugin={rig.lib('libvfriendly.so')}", "-mllvm", "-vf-numa=on"])}
SCRIPT = f"""{BOUND}
{NOBODY_ELSE}
for p in before after; do echo $p: $(/$p); done
"""
initrd = initramfs.write(rig.file("guest.cpio"), rig.busybox, programs, SCRIPT)
for line in machine.boot(rig.qemu, rig.kernel.image, initrd, CPUS, MEGABYTES, nodes=NODES):
    print(line)
