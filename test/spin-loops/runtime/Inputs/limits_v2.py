# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs take-turns and OpenMP regions in control groups of a guest that has cgroup v2 alone, and
checks what the runtime says it decided: limits_v2.py SOURCE BUILD TAKE_TURNS REGIONS LIBVFOMP"""

import json
import os
import sys

root, build, turns, regions, vfomp = sys.argv[1:]
sys.path.append(os.path.join(root, "test", "rigs"))

from guest import initramfs, machine, packages  # noqa: E402

CPUS, MEGABYTES = 2, 256
# In CPUs. Little, but enough to start a program: emulated, that takes some tenths of a second.
SMALL, SMALLER = 0.2, 0.1

# `within GROUP COMMAND...` runs a command in a group. The report of each is a line with its name.
SCRIPT = f"""
mount -t cgroup2 none /sys/fs/cgroup || exit 1
cd /sys/fs/cgroup
echo +cpu > cgroup.subtree_control || exit 1
export VF_STATS=1
limit() {{ echo "$2 100000" > $1/cpu.max || echo "no limit for $1"; }}
new() {{ mkdir $1 && limit $1 $2; }}
within() {{ group=$1; shift; sh -c 'echo $$ > "$0"/cgroup.procs; exec "$@"' $group "$@"; }}
named() {{ echo "$1 $(within $2 $3 $4 $5 2>&1 >/dev/null)"; }}
turns() {{ named $1 $2 /turns $3 30; }}

new free max
turns none free 2

turns comes free 6 &
sleep 2; limit free {SMALL * 1e5:.0f}; wait

turns goes free 6 &
sleep 2; limit free max; wait

new small {SMALL * 1e5:.0f}
turns small small 4
echo +cpu > small/cgroup.subtree_control
new small/inner max
turns ancestor small/inner 4
limit small/inner {SMALLER * 1e5:.0f}
turns nested small/inner 4

new old 400000
new next {SMALL * 1e5:.0f}
turns moved old 6 &
sleep 2
for process in $(cat old/cgroup.procs); do echo $process > next/cgroup.procs; done
rmdir old || echo "old is not removed"
wait

export LD_PRELOAD=/libvfomp.so
named omp-none free /regions 2000 2
named omp-small next /regions 2000 2
"""


def report_of(line):
    """The name of a run, and its report."""
    name, _, text = line.partition(" ")
    report = json.loads(text)
    return name, report.get("vfomp") or report["vfrt"]


def saves(report, cpus):
    limit = report["limit"]
    return limit["cpus"] == cpus and limit["throttled"] > 0 and limit["thrifty_waits"] > 0


cache = os.path.join(build, "guest")
initrd = initramfs.write(turns + ".cpio", packages.busybox(cache),
                         {"/turns": turns, "/regions": regions, "/libvfomp.so": vfomp}, SCRIPT)
lines = machine.boot(packages.qemu(), packages.kernel(cache).image, initrd, CPUS, MEGABYTES)
print("\n".join(lines))
of = dict(report_of(line) for line in lines)
assert "limit" not in of["none"], "there is no limit"
assert saves(of["comes"], SMALL), "noticed the limit"
assert of["goes"]["limit"]["cpus"] is None and of["goes"]["limit"]["thrifty"] == 0, "noticed its end"
assert saves(of["small"], SMALL), "saves CPU time"
assert saves(of["ancestor"], SMALL), "knows the ancestor's limit"
assert of["nested"]["limit"]["cpus"] == SMALLER, "the smaller one counts"
assert saves(of["moved"], SMALL), "found its new group"
assert of["omp-none"]["limited"] == 0 and "limit" not in of["omp-none"]
assert of["omp-small"]["limited"] >= 1 and of["omp-small"]["limit"]["cpus"] == SMALL
