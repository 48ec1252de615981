# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program costs the machine while it runs: interrupts and memory.

Shootdowns are the machine's, so those of an idle time as long are subtracted; memory is
the process' own, anonymous, looked at every few milliseconds.
"""

import os
import re
import subprocess
import tempfile
import time

import bench
import measure

EVERY_S = 0.002
PAGE = os.sysconf("SC_PAGESIZE")
# Each of them can take a page, or a right to it, from all CPUs. brk counts where it shrinks.
CALLS = ("madvise", "process_madvise", "munmap", "mprotect", "mremap", "brk")


def shootdowns():
    """Interrupts so far to invalidate translations, of all CPUs."""
    for line in open("/proc/interrupts"):
        name, _, rest = line.partition(":")
        if name.strip() == "TLB":
            return sum(int(n) for n in rest.split() if n.isdigit())
    raise bench.Broken("/proc/interrupts has no line TLB: it is x86's")


def idle_rate(seconds=1.0):
    """Of the machine without us, per second."""
    before = shootdowns()
    time.sleep(seconds)
    return (shootdowns() - before) / seconds


def own_bytes(pid):
    """Resident and not shared with a file; None once it is gone."""
    try:
        _, resident, shared, *_ = open(f"/proc/{pid}/statm").read().split()
    except (OSError, ValueError):
        return None
    return (int(resident) - int(shared)) * PAGE


def run(command, timeout, environment=None):
    """A Run that has shootdowns, mean_resident and peak_resident among its values."""
    idle = idle_rate()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        before, began = shootdowns(), time.monotonic()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                 env={**os.environ, **(environment or {})})
        seen, state = [], None
        try:
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                size = own_bytes(child.pid)
                if size:
                    seen.append(size)
                if time.monotonic() > began + timeout:
                    state = "timeout"
                    child.kill()
                time.sleep(EVERY_S)
        except BaseException:
            child.kill()
            raise
        wall = time.monotonic() - began
        counted = shootdowns() - before
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        output, errors = out.read(), err.read()
    state = state or ("ok" if child.returncode == 0 else "failed")
    values = {**measure.last_json(output), "shootdowns": max(0, counted - idle * wall),
              "mean_resident": sum(seen) / max(len(seen), 1), "peak_resident": max(seen, default=0)}
    return measure.Run(state, wall, usage.ru_utime + usage.ru_stime, output, errors, values)


BRK = re.compile(r"brk\((0x[0-9a-f]+|NULL)\) += (0x[0-9a-f]+)")


def resizes(command, environment, timeout):
    """System calls that shrink or remap, counted in a run of its own, which they slow down."""
    with tempfile.NamedTemporaryFile("r", suffix=".strace") as trace:
        tracing = ["strace", "-f", "-qq", "-o", trace.name, "-e", "trace=" + ",".join(CALLS)]
        for name, value in environment.items():
            tracing += ["-E", f"{name}={value}"]
        try:
            done = subprocess.run([*tracing, *command], capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            raise bench.Broken(f"{' '.join(command)} under strace: {done.stderr.strip()[-300:]}")
        count, end = 0, 0
        for line in trace:
            found = BRK.search(line)
            if found:
                new = int(found.group(2), 16)
                count += new < end
                end = new
            elif "resumed" not in line and any(f" {name}(" in line for name in CALLS):
                count += 1
        return count
