# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_tick.py PROGRAM: `gleaner tick` on a program that spins, and on one that computes."""

import signal
import subprocess
import sys
import time

program = sys.argv[1]


def explained(*arguments, until, seconds=120):
    """Starts gleaner tick and returns it with the first line that has one of the texts."""
    run = subprocess.Popen(["gleaner", "tick", "--explain", *arguments], stderr=subprocess.PIPE, text=True)
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


TICKS, NONE = "samples wait for others: ticks every 100 us", "samples wait\n"
run, line = explained("--", program, "spin", until=(TICKS,))
assert end(run) == -signal.SIGTERM
run, line = explained("--", program, "compute", until=(TICKS, NONE))
assert "no ticks: 0 of" in line, line
assert end(run) == -signal.SIGTERM

spinning = subprocess.Popen([program, "spin"])
before = slices(spinning.pid)
run, line = explained("-p", str(spinning.pid), until=(TICKS,))
assert end(run) == 0
assert spinning.poll() is None
assert slices(spinning.pid) == before, (before, slices(spinning.pid))
spinning.kill()
spinning.wait()
