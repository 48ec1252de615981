# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds and runs herd7, which examines all executions of a litmus test in a processor's memory model."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

# herd7 gives up on candidates of executions early: those in which the values of one variable are out
# of order, those in which another store comes between the halves of an exclusive pair, and those
# that do not reach the condition. Without, tests with several exclusive pairs take minutes.
PRUNE = ["-optace", "true", "-variant", "OptRfRMW", "-speedcheck", "fast"]


def find():
    """Returns the path of herd7, of PATH or built by `./dev herd7`, or None."""
    built = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vfriendly/herd7/bin/herd7")
    return shutil.which("herd7") or (built if os.path.exists(built) else None)


def run(folder, tests):
    """Runs tests, {name: text}, of one processor. Returns {name: whether the condition is reached}."""
    files = []
    for name, text in tests.items():
        files.append(os.path.join(folder, name + ".litmus"))
        with open(files[-1], "w", encoding="ascii") as file:
            file.write(text)
    workers = len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(lambda n: subprocess.run([find(), *PRUNE, *files[n::workers]], capture_output=True, text=True, check=False), range(workers)))
    seen = {name: how != "Never" for each in done for name, how in re.findall(r"^Observation (\S+) (\w+)", each.stdout, re.M)}
    if set(seen) != set(tests):
        sys.exit(f"herd7 says nothing of {sorted(set(tests) - set(seen))}:\n{''.join(each.stderr[-2000:] for each in done)}")
    return seen
