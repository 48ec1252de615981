# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_hosted.py SOURCE BUILD OUT: `vfriendly numa place --host` in a guest that sees one node, on a host with two.
All memory of a program is on one node of the host; what each vCPU uses alone comes to its node, and half of what
both use to each."""

import re
import sys

from rig import NOBODY_ELSE, Rig, python

SIZE_MB = 32
PAGES = SIZE_MB * 256
BLOCKS = SIZE_MB // 2
# Of what the host gives, the pages of the tool itself, on any node.
NEAR = 0.25
# Small pages, but for one range.
SCRIPT = f"""
mount -t debugfs debug /sys/kernel/debug
# The kernel looks at all pages each second; by default it does so more and more seldom.
echo 1000 > /sys/kernel/debug/sched/numa_balancing/scan_period_max_ms
echo madvise > /sys/kernel/mm/transparent_hugepage/enabled
place() {{ python3 -B -I -S /command.pyc root numa place "$@" >/tmp/said 2>&1; echo "status $?"; sed 's/^/said: /' /tmp/said; }}
place 999999 --host --groups 0/1
/hosted {SIZE_MB} &
hosted=$!
sleep 2
place $hosted --host --groups 0/1/7
place $hosted --host --groups 0,1
place $hosted --host --groups 0/1 --seconds 40
cat /proc/sys/kernel/numa_balancing
kill $hosted
wait $hosted
"""
HOST = f"{NOBODY_ELSE}; echo never > /sys/kernel/mm/transparent_hugepage/enabled;"

rig = Rig(*sys.argv[1:])
files = {"hosted": rig.compiled("hosted", runtime=False), **python(rig, "numa")}
lines, wrong = [], []


def seen(line):
    lines.append(line)
    if line.startswith(("said", "status")):
        print(line, flush=True)


for result, pages in rig.opaque_guest(files, SCRIPT, HOST, seen):
    print(f"{result['case']}: {pages[0]} new pages of node 0, {pages[1]} of node 1, {result['wrong']} wrong")
    if result["wrong"]:
        wrong.append("memory is another")
    if any(not 1.5 - NEAR <= count / PAGES <= 1.5 + 2 * NEAR for count in pages):
        wrong.append("pages are not where they are used")
text = "\n".join(lines)
if re.findall(r"^status (\d+)$", text, re.M) != ["2", "2", "2", "0"]:
    wrong.append("a status is another")
if not re.search(r"^0$", text, re.M):
    wrong.append("kernel.numa_balancing is not as before")
copied = [int(n) for n in re.findall(r"^said: CPUs \d: (\d+) blocks copied", text, re.M)]
if len(copied) != 2 or min(copied) < 1.4 * BLOCKS:
    wrong.append("blocks were not copied")
for words in wrong:
    print(f"WRONG: {words}")
print(f"hosted: {len(wrong)} wrong")
sys.exit(bool(wrong))
