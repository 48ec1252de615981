# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests in guests share: programs, and the guest they run in."""

import os
import py_compile
import subprocess
import sys

INPUTS = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(INPUTS, "..", "..", "rigs"))

from guest import initramfs, machine, nested, packages  # noqa: E402

OMP = "/usr/lib/llvm-22/lib"
# No more vCPUs than this machine has CPUs: parallel faults of more took 5 to 13 s.
CPUS = 2
# Else the kernel moves pages by itself, and move_pages does not see those that it samples.
NOBODY_ELSE = "echo 0 > /proc/sys/kernel/numa_balancing"
# Of the machine in which a guest that sees one node runs.
NODES = 2
# Threads that stay where they are, one a CPU.
BOUND = f"export OMP_PLACES=threads OMP_PROC_BIND=close OMP_NUM_THREADS={CPUS}"

MODULES = """
import sys
sys.dont_write_bytecode = True
cli, command, *folders = sys.argv[1:]
sys.path[:0] = [cli, *folders]
import runpy, sysconfig, encodings.ascii, encodings.latin_1, encodings.utf_8
sysconfig.get_config_vars()  # imports a module
import vfriendly.cli
vfriendly.cli.parser_of([command])
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None)
    if file:
        print(file)
"""
COMMAND = """
import os, sys
sys.path[:0] = {folders}
user, *sys.argv[1:] = sys.argv[1:]
if user != "root":
    os.setuid(int(user))
    # Else nobody may look at this process or its children, not even itself: it may have read what only root may.
    os.execv("/bin/python3", ["python3", "-B", "-I", "-S", "/command.pyc", "root", *sys.argv[1:]])
from vfriendly.cli import main
sys.exit(main())
"""


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

    def opaque_guest(self, files, script, prefix, seen=lambda line: None):
        """Boots a guest that sees one node, in one that has two. Yields what its programs say of each
        case, and the pages of each node that the host gave for it."""
        vmm = nested.build_vmm("clang", self.out)
        initrd = nested.write(self.out, self.kernel, self.busybox, vmm, CPUS, files, script,
                              counters=[nested.NODES], prefix=prefix)
        counter = nested.Counter()
        nested.check(machine.boot(self.qemu, self.kernel.image, initrd, CPUS, nested.L1_MEGABYTES, name=nested.L1,
                                  seen=lambda line: (counter.line(line), seen(line)), nodes=NODES))
        for result in counter.results:
            found = result["exits"].get("counter", {})
            yield result, [found.get(f"N{node}", 0) for node in range(NODES)]


def python(rig, command, *folders):
    """Files of the guest: the interpreter, and each module that the tool's command imports, compiled; also from folders.

    There, `python3 -B -I -S /command.pyc USER command ...` runs it.
    """
    cli = os.path.join(rig.source, "checkers", "cli")
    listed = subprocess.run([sys.executable, "-I", "-c", MODULES, cli, command, *folders], capture_output=True,
                            text=True, check=True)
    files = {"/bin/python3": os.path.realpath(sys.executable)}
    for number, path in enumerate(sorted(set(listed.stdout.split()))):
        if path.endswith(".py"):
            compiled = rig.file(f"{number}.pyc")
            py_compile.compile(path, compiled, doraise=True)
            files[f"{path}c"] = compiled
        else:
            files[path] = path
            files.update(initramfs.libraries(path))
    with open(rig.file("command.py"), "w") as file:
        file.write(COMMAND.format(folders=[cli, *folders]))
    py_compile.compile(rig.file("command.py"), rig.file("command.pyc"), doraise=True)
    files["/command.pyc"] = rig.file("command.pyc")
    return files
