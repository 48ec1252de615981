# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""decides.py TEST_INPUTS LIBRARY PROGRAM: checks what the library says it decided."""

import json
import os
import subprocess
import sys
import time

sys.path.append(sys.argv[1])
import cpu_group  # pylint: disable=wrong-import-position

LIBRARY, PROGRAM = sys.argv[2:]


def run(milliseconds, enter=None, threads=2, meanwhile=lambda process: None):
    # pylint: disable-next=subprocess-popen-preexec-fn
    with subprocess.Popen([PROGRAM, str(milliseconds / 2), str(threads)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, env={**os.environ, "LD_PRELOAD": LIBRARY, "VF_STATS": "1"}, preexec_fn=enter) as process:
        meanwhile(process)
        report = json.loads(process.communicate(timeout=60)[1])["vfomp"]
        assert process.returncode == 0
    print(report)
    return report


with cpu_group.group(0.1) as small:
    report = run(1500, small.enter)
    assert report["limited"] >= 1 and report["trials"] == 0, "spins shortly for longer than this takes"
    assert report["short_ms"] + report["sleep_ms"] > report["spin_ms"]
    assert report["limit"]["cpus"] == 0.1 and report["limit"]["throttled"] > 0

# A limit that comes, and goes: both within a second, and twice that here.
with cpu_group.group(None) as free:
    def change(_process):
        time.sleep(0.5)
        free.limit(0.1)
        time.sleep(2)
        free.limit(None)

    report = run(5000, free.enter, meanwhile=change)
    assert report["limited"] >= 1 and report["trials"] >= 1, "spins as usual again"
    assert report["limit"]["cpus"] is None

# The process is moved, and its group vanishes.
with cpu_group.group(4) as free, cpu_group.group(0.1) as small:
    def move(process):
        # The start alone takes a few periods of 10 ms of CPU time each.
        time.sleep(1)
        free.take(process.pid)
        os.rmdir(small.folder)
        os.mkdir(small.folder)  # for the context manager

    report = run(4000, small.enter, meanwhile=move)
    assert report["limited"] >= 1 and report["trials"] >= 1, "knows the limit of its new group"
    assert report["limit"]["cpus"] == 4

# One thread for each CPU and as many that compute.
cpus = len(os.sched_getaffinity(0))
hogs = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * cpus)]
try:
    report = run(3000, threads=cpus)
finally:
    for hog in hogs:
        hog.kill()
        hog.wait()
assert report["crowded"] >= 1 and report["sleep_ms"] > 0, "sleeps beside others"
