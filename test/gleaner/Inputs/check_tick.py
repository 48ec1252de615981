# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_tick.py PROGRAM: `gleaner tick` on a program that spins, and on one that computes."""

import contextlib
import os
import signal
import subprocess
import sys
import time

PROGRAM = sys.argv[1]
TICKS, NONE = "samples wait for others: ticks every 100 us", "samples wait\n"
RUNS = []


def start(*words, **how):
    # In a session of its own, with all that it starts: what a failure left would keep the test's output open.
    RUNS.append(subprocess.Popen(words, start_new_session=True, **how))
    return RUNS[-1]


def explained(*arguments, until, seconds=120):
    """Starts gleaner tick and returns it with the first line that has one of the texts."""
    run = start("gleaner", "tick", "--explain", *arguments, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + seconds
    for line in run.stderr:
        if any(text in line for text in until):
            return run, line
        assert time.monotonic() < end, line
    raise AssertionError(f"{arguments}: no {until}")


def slices(pid):
    with open(f"/proc/{pid}/task/{pid}/sched") as file:
        return [line.split()[-1] for line in file if line.startswith("se.slice")]


def end(run):
    run.send_signal(signal.SIGTERM)
    run.stderr.read()
    return run.wait()


def main():
    run, line = explained("--", PROGRAM, "spin", until=(TICKS,))
    assert end(run) == -signal.SIGTERM
    run, line = explained("--", PROGRAM, "compute", until=(TICKS, NONE))
    assert "no ticks: 0 of" in line, line
    assert end(run) == -signal.SIGTERM
    spinning = start(PROGRAM, "spin")
    before = slices(spinning.pid)
    run, line = explained("-p", str(spinning.pid), until=(TICKS,))
    assert end(run) == 0
    assert spinning.poll() is None
    assert slices(spinning.pid) == before, (before, slices(spinning.pid))


# In a look of 0.1 s, the program must have CPUs for ten samples: beside much other work it has too few for a verdict.
with contextlib.suppress(PermissionError):
    os.setpriority(os.PRIO_PROCESS, 0, -20)
try:
    main()
finally:
    for each in RUNS:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(each.pid, signal.SIGKILL)
        each.wait()
