# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a command is measured beside: nothing ("idle"), a thread that computes for each CPU
("hogs"), or a limit of CPU time in CPUs ("limit-1.5", needs root)."""

import contextlib
import os
import subprocess
import sys

import bench

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import cpu_group  # pylint: disable=wrong-import-position


@contextlib.contextmanager
def hogs(number):
    """Threads that compute, of other programs."""
    started = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(number)]
    try:
        yield
    finally:
        for hog in started:
            hog.kill()
        for hog in started:
            hog.wait()


@contextlib.contextmanager
def _limit(cpus):
    with cpu_group.group(cpus) as group:
        entry = os.path.join(group.folder, "cgroup.procs")
        yield ["sh", "-c", 'echo $$ > "$0"; exec "$@"', entry]


@contextlib.contextmanager
def beside(condition):
    """Makes the condition, and yields the beginning of a command that runs in it."""
    if condition == "idle":
        yield []
    elif condition == "hogs":
        with hogs(bench.cpus()):
            yield []
    elif condition.startswith("limit-"):
        with _limit(float(condition[len("limit-"):])) as prefix:
            yield prefix
    else:
        raise bench.Usage(f"no condition '{condition}': idle, hogs, or limit-CPUS")


def usable(conditions):
    """Those of the conditions that this process may make; says which it may not."""
    if any(c.startswith("limit-") for c in conditions) and not cpu_group.are_allowed():
        print("limits of CPU time are left out: they need root and the CPU controller")
        return [c for c in conditions if not c.startswith("limit-")]
    return conditions
