# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program costs the machine while it runs: interrupts and memory.

Shootdowns are the machine's, so those of an idle interval as long are subtracted; memory
is the process' own, anonymous, looked at every few milliseconds.
"""

import os
import threading
import time

import bench
import measure

# Of a run of 0.1 s that is 50 looks, which take 2 % of a CPU.
EVERY_S = 0.002
PAGE = os.sysconf("SC_PAGESIZE")


def shootdowns():
    """Interrupts so far to invalidate translations, of all CPUs."""
    for line in open("/proc/interrupts"):
        name, _, rest = line.partition(":")
        if name.strip() == "TLB":
            return sum(int(n) for n in rest.split() if n.isdigit())
    raise bench.Broken("/proc/interrupts has no line TLB: it is x86's")


def idle(seconds):
    """The machine without us: [(since when, shootdowns since then)], for so long."""
    began, before, seen = time.monotonic(), shootdowns(), [(0.0, 0)]
    while seen[-1][0] < seconds:
        time.sleep(min(0.01, seconds))
        seen.append((time.monotonic() - began, shootdowns() - before))
    return seen


def idle_count(seen, seconds):
    """Of an idle time, the shootdowns in an interval of so many seconds."""
    last, count = seen[-1]
    if seconds >= last:
        return count * seconds / last if last else 0
    return next(n for when, n in seen if when >= seconds)


def subtract(one, seen):
    """Makes a run's `counted` into its own `shootdowns`."""
    one.values["shootdowns"] = max(0, one.values["counted"] - idle_count(seen, one.wall))


def own_bytes(pid):
    """Resident and not shared with a file; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = file.read().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * PAGE


def memory(pid):
    """Looks at a process until the function that this returns is called."""
    seen, over = [], threading.Event()

    def look():
        while not over.wait(EVERY_S):
            seen.append(own_bytes(pid))

    # A bench that is ended in between does not wait for it.
    thread = threading.Thread(target=look, daemon=True)
    thread.start()

    def ended():
        over.set()
        thread.join()
        sizes = [size for size in seen if size]
        return {"mean_resident": sum(sizes) / max(len(sizes), 1), "peak_resident": max(sizes, default=0)}

    return ended


def run(ready, timeout, environment):
    """A Run of what rows.py made ready, with mean_resident, peak_resident and `counted`
    among its values, the shootdowns of the whole machine meanwhile."""

    def beside(pid):
        enders = [memory(pid)] + ([ready.client()] if ready.client else [])
        return lambda: {name: value for ended in enders for name, value in ended().items()}

    before = shootdowns()
    one = measure.run(ready.command, timeout, {**ready.environment, **environment},
                      folder=ready.folder, feed=ready.feed, beside=beside)
    one.values["counted"] = shootdowns() - before
    if one.status == "ok" and "load_failed" in one.values:
        one.status, one.errors = "failed", one.values["load_failed"]
    return one
