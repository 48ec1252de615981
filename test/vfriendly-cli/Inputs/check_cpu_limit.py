# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_cpu_limit.py FOLDER: limits in made-up trees, and the numbers of threads for them."""

import os
import sys
from pathlib import Path

from vfriendly import cpu_limit

TREE = Path(sys.argv[1])
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"
# name: lines of /proc/self/cgroup, files below the mount, the limit
TREES = {
    "v2": ("0::/pod/inner", {"pod/cpu.max": "150000 100000", "pod/inner/cpu.max": "max 100000"}, 1.5),
    "v2-inner": ("0::/pod/inner", {"pod/cpu.max": "150000 100000", "pod/inner/cpu.max": "50000 100000"}, 0.5),
    "v2-namespace": ("0::/", {"cpu.max": "50000 100000"}, 0.5),
    "v2-outside": ("0::/../other", {"cpu.max": "50000 100000"}, 0.5),
    "v1": ("5:memory:/m\n4:cpu,cpuacct:/a/b", {f"cpu,cpuacct/a/{QUOTA}": "-1", f"cpu,cpuacct/a/b/{QUOTA}": "200000",
                                               f"cpu,cpuacct/a/b/{PERIOD}": "100000"}, 2),
    "v1-container": ("4:cpu:/docker/12", {f"cpu/{QUOTA}": "50000", f"cpu/{PERIOD}": "100000"}, 0.5),
    "hybrid": ("4:cpu:/\n0::/x", {f"cpu/{QUOTA}": "-1", "unified/x/cpu.max": "10 100"}, None),
    "no-period": ("4:cpu:/", {f"cpu/{QUOTA}": "100"}, None),
    "nonsense": ("0::/\nx\n::::", {"cpu.max": "much 7"}, None),
    "none": ("", {}, None),
}
for name, (lines, files, wanted) in TREES.items():
    mount = TREE / name / "mount"
    for file, text in files.items():
        (mount / file).parent.mkdir(parents=True, exist_ok=True)
        (mount / file).write_text(text + "\n")
    mount.mkdir(parents=True, exist_ok=True)
    membership = TREE / name / "cgroup"
    membership.write_text(lines + "\n")
    found = cpu_limit.limit(membership, mount)
    assert found == wanted, f"{name}: {found}, not {wanted}"
assert cpu_limit.limit(Path("/nowhere"), Path("/nowhere")) is None

cpus = len(os.sched_getaffinity(0))
for limit, threads in ((None, None), (0.5, "1"), (cpus - 0.5, None), (cpus, None), (cpus + 1, None)):
    cpu_limit.limit = lambda: limit
    wanted = {name: threads for name in cpu_limit.VARIABLES} if threads and cpus > 1 else {}
    assert cpu_limit.thread_counts({}) == wanted, limit
cpu_limit.limit = lambda: 0.5
assert "OMP_NUM_THREADS" not in cpu_limit.thread_counts({"OMP_NUM_THREADS": "7"})
print("as it should be")
