#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Control groups with a limit of CPU time, of cgroup v1 or v2; needs root.

  cpu_group.py CPUS COMMAND...     runs the command in a group limited to CPUS, e.g. 0.5

Prints the kernel's statistics of the group on stderr, and ends with the command's status.
"""

import contextlib
import itertools
import os
import subprocess
import sys

PERIOD_US = 100000
_V1 = "/sys/fs/cgroup/cpu"
_V2 = "/sys/fs/cgroup"
_numbers = itertools.count()


def _write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as file:
        file.write(text)


def _is_v1():
    return os.path.exists(os.path.join(_V1, "cpu.cfs_quota_us"))


def _own_folder():
    """The folder of this process's group."""
    with open("/proc/self/cgroup", encoding="ascii") as file:
        for line in file:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if _is_v1() and "cpu" in controllers.split(","):
                return _V1 + path
            if not _is_v1() and not controllers:
                return _V2 + path
    return None


class Group:
    def __init__(self, folder):
        self.folder = folder

    def limit(self, cpus):
        """Sets the limit; None: no limit."""
        quota = None if cpus is None else int(cpus * PERIOD_US)
        if _is_v1():
            _write(self.folder, "cpu.cfs_quota_us", str(-1 if quota is None else quota))
        else:
            _write(self.folder, "cpu.max", f"{'max' if quota is None else quota} {PERIOD_US}")

    def enter(self):
        """Moves the calling process into the group; a preexec_fn."""
        _write(self.folder, "cgroup.procs", str(os.getpid()))

    def take(self, pid):
        _write(self.folder, "cgroup.procs", str(pid))

    def statistics(self):
        with open(os.path.join(self.folder, "cpu.stat"), encoding="ascii") as file:
            return {name: int(value) for name, value in (line.split() for line in file)}


@contextlib.contextmanager
def group(cpus, parent=None):
    """A new group, limited to `cpus` unless None, in this process's group or in another Group.
    Raises OSError where that is not allowed."""
    above = parent.folder if parent else _own_folder()
    if above is None:
        raise OSError("no hierarchy with the CPU controller")
    if not _is_v1():
        _write(above, "cgroup.subtree_control", "+cpu")
    made = Group(os.path.join(above, f"vf-limit-{os.getpid()}-{next(_numbers)}"))
    os.mkdir(made.folder)
    try:
        if cpus is not None:
            made.limit(cpus)
        yield made
    finally:
        # Processes that have just ended may still be in it.
        for _ in range(200):
            try:
                os.rmdir(made.folder)
                break
            except OSError:
                subprocess.run(["sleep", "0.01"], check=False)


def are_allowed():
    try:
        with group(1):
            return True
    except OSError:
        return False


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with group(float(sys.argv[1])) as made:
        # pylint: disable-next=subprocess-popen-preexec-fn
        status = subprocess.run(sys.argv[2:], preexec_fn=made.enter, check=False).returncode
        print(made.statistics(), file=sys.stderr)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
