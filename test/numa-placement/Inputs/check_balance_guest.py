# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_balance_guest.py SOURCE BUILD OUT: `vfriendly numa balance` in a guest of two nodes, on a
process whose pages one node has."""

import json
import re
import sys

from rig import CPUS, Rig, python

from guest import initramfs, machine

MEGABYTES, SIZE_MB, NODES = 1536, 16, 2
PAGES = SIZE_MB * 256
RATE = 1000
# Shares of a range: where it was filled; evenly enough, an imbalance of 32.1 %; and private ones.
FILLED, EVEN, LOCAL = 0.9, 0.33, 0.95
LOW = 32.1  # imbalance of two nodes, in percent
MOST_MOVES = 1.2 * PAGES / 2

# The kernel looks at all pages each second; by default it does so more and more seldom.
# As nobody and without the kernel's balancing nothing is moved; nor of a process that is gone.
SCRIPT = f"""
echo 0 > /proc/sys/kernel/numa_balancing
/hot {SIZE_MB} &
hot=$!
sleep 1
balance() {{ python3 -B -I -S /command.pyc "$@"; echo "status $?"; }}
balance root numa balance $hot
mount -t debugfs debug /sys/kernel/debug
echo 1000 > /sys/kernel/debug/sched/numa_balancing/scan_period_max_ms
echo 1 > /proc/sys/kernel/numa_balancing
echo 3 > /proc/sys/kernel/perf_event_paranoid
balance 65534 numa balance $hot
balance root numa balance 999999
balance 65534 numa balance $hot --hold
balance root numa balance $hot --rate {RATE} --quiet 15 --seconds 120 --hold
cat /proc/sys/kernel/numa_balancing
echo 0 > /proc/sys/kernel/numa_balancing
kill $hot
wait $hot
"""


def judge(lines):
    """What is not as it has to be."""
    pages = {}
    for line in lines:
        if line.startswith('{"when"'):
            found = json.loads(line)
            pages[found["when"], found["what"]] = found["pages"]

    def share(when, what, node):
        return pages[when, what][node] / max(sum(pages[when, what]), 1)

    moved = [int(n) for n in re.findall(r" s: .* moved (\d+)$", "\n".join(lines), re.M)]
    total = re.findall(r"^moved (\d+) pages", "\n".join(lines), re.M)
    if min(share("before", what, 0) for what in ("shared", "private 0", "private 1")) < FILLED:
        yield "pages are not on node 0 before"
    if min(share("after", "shared", 0), share("after", "shared", 1)) < EVEN:
        yield "shared pages are not even"
    left = [float(n) for n in re.findall(r"^moved .* imbalance (\S+) %$", "\n".join(lines), re.M)]
    if len(left) != 1 or left[0] > LOW:
        yield "by the last line shared pages are not even"
    if share("after", "private 0", 0) < LOCAL or share("after", "private 1", 1) < LOCAL:
        yield "private pages are not local"
    if len(total) != 1 or int(total[0]) != sum(moved):
        yield "the sum of moves is another"
    if sum(moved) > MOST_MOVES or max(moved, default=0) > RATE:
        yield f"more moves than {MOST_MOVES:.0f}, or than {RATE} in a second"
    if re.findall(r"^status (\d+)$", "\n".join(lines), re.M) != ["2", "2", "2", "2", "0"]:
        yield "a status is another"


rig = Rig(*sys.argv[1:])
files = {"/hot": rig.compiled("hot", runtime=False), **python(rig, "numa")}
initrd = initramfs.write(rig.file("guest.cpio"), rig.busybox, files, SCRIPT)
lines = machine.boot(rig.qemu, rig.kernel.image, initrd, CPUS, MEGABYTES, nodes=NODES, seen=print)
wrong = list(judge(lines))
for words in wrong:
    print(f"WRONG: {words}")
print(f"balance: {len(wrong)} wrong")
sys.exit(bool(wrong))
