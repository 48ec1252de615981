# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program in a control group of its own: in_group.py MEGABYTES PRELOAD COMMAND..."""

import os
import subprocess
import sys

V1, V2 = "/sys/fs/cgroup/memory", "/sys/fs/cgroup"


def where():
    """The folder in which groups with a limit can be made, and the limit's name; or None."""
    if os.access(os.path.join(V1, "memory.limit_in_bytes"), os.F_OK):
        return (V1, "memory.limit_in_bytes") if os.access(V1, os.W_OK) else None
    try:
        inside = open(os.path.join(V2, "cgroup.subtree_control")).read().split()
    except OSError:
        return None
    return (V2, "memory.max") if "memory" in inside and os.access(V2, os.W_OK) else None


def main():
    top, limit = where()
    folder = os.path.join(top, f"vfriendly-test-{os.getpid()}")
    os.mkdir(folder)
    try:
        with open(os.path.join(folder, limit), "w") as file:
            file.write(str(int(sys.argv[1]) << 20))

        def enter():
            with open(os.path.join(folder, "cgroup.procs"), "w") as file:
                file.write(str(os.getpid()))

        # None may stay behind: the group could not go.
        return subprocess.run(sys.argv[3:], preexec_fn=enter, timeout=60,
                              env={**os.environ, "LD_PRELOAD": sys.argv[2]}).returncode
    finally:
        os.rmdir(folder)


if __name__ == "__main__":
    sys.exit(main())
