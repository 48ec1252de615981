# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_place.py SOURCE: which blocks `vfriendly numa place --host` copies, and on which vCPUs, on what is made up."""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(sys.argv[1], "checkers", "cli"))
from vfriendly import hosting  # noqa: E402
from vfriendly.errors import Refused  # noqa: E402

BLOCK = 0x200000
wrong = 0


def check(what, found, wanted):
    global wrong
    if found != wanted:
        wrong += 1
        print(f"WRONG: {what}: {found}, not {wanted}")


def chosen(samples, count=2):
    """samples: by block, the vCPUs that were seen there. vCPUs 0 and 1 are group 0, and so on."""
    uses = hosting.Uses({cpu: cpu // 2 for cpu in range(2 * count)}, BLOCK)
    for block, cpus in samples.items():
        for number, cpu in enumerate(cpus):
            uses.sample(block * BLOCK + number * 4096, cpu)
    return uses.chosen([block * BLOCK for block in range(10)])


def at(**groups):
    return {int(block[1:]) * BLOCK: group for block, group in groups.items()}


check("of one group each", chosen({0: [0, 1, 0], 1: [2, 3], 5: [3] * 9 + [0]}), (at(b0=0, b1=1, b5=1), 0))
check("shared by turns", chosen({0: [0, 2], 1: [2, 0, 2], 2: [1, 3], 3: [3, 3]}), (at(b0=0, b1=1, b2=0, b3=1), 3))
check("by turns of four", chosen({block: [0, 7] for block in range(4)}, 4), (at(b0=0, b1=1, b2=2, b3=3), 4))
check("one sample is none, nor one of a vCPU in no group", chosen({0: [0], 1: [9, 9], 2: [9, 0]}), ({}, 0))
check("not of the process' own memory", chosen({12: [0, 0]}), ({}, 0))

MAPS = """\
555500001000-555500002000 r-xp 00001000 08:01 77 /bin/prog
555500200000-555500600000 rw-p 00000000 00:00 0                          [heap]
7f0000001000-7f0000601000 rw-p 00000000 00:00 0
7f0000800000-7f0000a00000 rw-p 00000000 00:00 0                          [anon:pool]
7f0000a00000-7f0000c00000 r--p 00000000 00:00 0
7f0000c00000-7f0000e00000 rw-s 00000000 00:01 5                          /dev/zero (deleted)
7f0001000000-7f0001200000 rw-p 00000000 08:01 9                          /data
7f0001400000-7f0001401000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00400000 rw-p 00000000 00:00 0                          [stack]
"""
check("whole blocks of anonymous memory", list(hosting.blocks_of(MAPS, BLOCK)),
      [0x555500200000, 0x555500400000, 0x7f0000200000, 0x7f0000400000, 0x7f0000800000])
check("no line", list(hosting.blocks_of("", BLOCK)), [])

MEMORY = "MemTotal:       1000 kB\nMemFree:         {} kB\nMemAvailable:    900 kB\n"
check("a tenth stays free", hosting.free_bytes(MEMORY.format(600)), 500 * 1024)
check("none is free", hosting.free_bytes(MEMORY.format(50)), 0)

for text in ("", "0", "0/", "0/x", "0-1/1", "a/b"):
    try:
        check(f"--groups {text}", hosting.groups(text), "refused")
    except Refused as error:
        check(f"--groups {text}", "two groups" in str(error), True)
cpu = min(os.sched_getaffinity(0))
try:
    check("a CPU that is not there", hosting.groups(f"{cpu}/99999"), "refused")
except Refused as error:
    check("a CPU that is not there", str(error), "--groups: CPU 99999 is not one that this process may use")
with tempfile.NamedTemporaryFile("w+", encoding="ascii") as setting:
    setting.write("0\n")
    setting.flush()
    hosting.numa.BALANCING = setting.name
    try:
        with hosting.Sampling():
            check("it samples", Path(setting.name).read_text(encoding="ascii"), "1\n")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
    except SystemExit as end:
        check("the status", end.code, 128 + signal.SIGTERM)
    check("the setting is restored", Path(setting.name).read_text(encoding="ascii"), "0\n")
    check("so is the handler", signal.getsignal(signal.SIGTERM), signal.SIG_DFL)
print(f"place: {wrong} wrong")
sys.exit(wrong > 0)
