# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""decides.py TEST_INPUTS LIBRARY PROGRAM: checks what the library says it decided."""

import json
import os
import subprocess
import sys

sys.path.append(sys.argv[1])
import cpu_group  # pylint: disable=wrong-import-position

LIBRARY, PROGRAM = sys.argv[2:]


def run(milliseconds, enter=None, threads=2):
    done = subprocess.run(
        [PROGRAM, str(milliseconds / 2), str(threads)], capture_output=True, text=True, timeout=60, preexec_fn=enter, check=True,
        env={**os.environ, "LD_PRELOAD": LIBRARY, "VF_STATS": "1"})
    report = json.loads(done.stderr)["vfomp"]
    print(report)
    return report


with cpu_group.group(0.1) as small:
    report = run(1500, small.enter)
    assert report["limited"] >= 1 and report["trials"] == 0, "spins shortly for longer than this takes"
    assert report["short_ms"] + report["sleep_ms"] > report["spin_ms"]
    assert report["limit"]["cpus"] == 0.1 and report["limit"]["throttled"] > 0

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
