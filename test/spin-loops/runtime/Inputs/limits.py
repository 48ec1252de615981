# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs take-turns in control groups and checks what the runtime says it decided:
limits.py TAKE_TURNS TEST_INPUTS"""

import json
import os
import subprocess
import sys
import time

PROGRAM = sys.argv[1]
sys.path.append(sys.argv[2])
import cpu_group  # pylint: disable=wrong-import-position

# Stops two threads that spin even if they have a small share of a busy machine.
SMALL = 0.1


def run(group, seconds, meanwhile=lambda process: None):
    """Returns "limit" of the report of the program, or None."""
    # pylint: disable-next=subprocess-popen-preexec-fn
    with subprocess.Popen([PROGRAM, str(seconds), "30"], stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "VF_STATS": "1"}, preexec_fn=group.enter) as process:
        time.sleep(0.3)
        meanwhile(process)
        report = json.loads(process.communicate(timeout=60)[1])
        assert process.returncode == 0
    print(report["vfrt"].get("limit"))
    return report["vfrt"].get("limit")


def saves(limit, cpus):
    return limit["cpus"] == cpus and limit["throttled"] > 0 and limit["thrifty_waits"] > 0


with cpu_group.group(None) as free:
    assert run(free, 1) is None, "there is no limit"

    # A limit that comes.
    limit = run(free, 3, lambda process: free.limit(SMALL))
    assert saves(limit, SMALL), "noticed the limit"
    # One that goes.
    limit = run(free, 2.5, lambda process: free.limit(None))
    assert limit["cpus"] is None and limit["thrifty"] == 0, "noticed its end"

with cpu_group.group(SMALL) as small:
    assert saves(run(small, 1.5), SMALL), "saves CPU time"
    # The limit of an ancestor.
    with cpu_group.group(None, small) as inner:
        assert saves(run(inner, 1.5), SMALL), "knows the ancestor's limit"
    with cpu_group.group(0.05, small) as inner:
        assert run(inner, 1.5)["cpus"] == 0.05, "the smaller one counts"

# The process is moved, and its group vanishes.
with cpu_group.group(SMALL) as next_group:
    with cpu_group.group(4) as old:
        def move(process):
            next_group.take(process.pid)
            os.rmdir(old.folder)
            os.mkdir(old.folder)  # for the context manager
        limit = run(old, 3, move)
    assert saves(limit, SMALL), "found its new group"
