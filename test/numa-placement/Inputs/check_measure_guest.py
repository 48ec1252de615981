# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_measure_guest.py SOURCE BUILD OUT: `vfriendly measure` in a guest of two nodes, as root and as nobody: a process
whose pages one node has and which computes on both, and one that says what it does."""

import json
import os
import re
import sys

import psutil
from rig import CPUS, NOBODY_ELSE, Rig, python

from guest import initramfs, machine

MEGABYTES, SIZE_MB, NODES = 1536, 8, 2
# More would take long, as the CPU is emulated.
N, SECONDS = 300, 2
# Two of hot.c's three ranges are used by CPU 1 too or alone, and all lie on node 0. Both threads compute all the time,
# but the first one alone at the beginning.
ON_NODE, LEAST_REMOTE, MOST_REMOTE = 0.9, 0.25, 0.6
# Faults of the start, with OpenMP's library.
COUNT, START = 0.02, 600
# What measure loads by itself where it is installed.
LIBRARIES = ("libbpf.so.1", "libdw.so.1")
SCRIPT = f"""
{NOBODY_ELSE}
chmod 1777 /tmp
export VFRIENDLY_LIB=/lib
measure() {{ python3 -B -I -S /command.pyc "$@"; echo "status $?"; }}
measure root measure -q --seconds {SECONDS} -- /hot {SIZE_MB}
echo 2 > /proc/sys/kernel/perf_event_paranoid
measure 65534 measure -q --seconds {SECONDS} -- /hot {SIZE_MB}
echo 3 > /proc/sys/kernel/perf_event_paranoid
measure 65534 measure -q --without-perf --seconds {SECONDS} -- /hot {SIZE_MB}
measure root measure -q -o /tmp/truth.json -- /truth {N}
cat /tmp/truth.json
"""
TIERS = ("BPF", "perf events and /proc", "a preloaded library and /proc", "BPF")


def libraries():
    """Files of the guest that a program does not name, and what they need."""
    files = {}
    for name in LIBRARIES:
        path = f"/lib/x86_64-linux-gnu/{name}"
        files[path] = os.path.realpath(path)
        files.update(initramfs.libraries(path))
    return files


def judge(lines):
    """What is not as it has to be."""
    text = "\n".join(lines)
    tiers = re.findall(r"^overhead, measured: .* samples, by (.*)$", text, re.M)
    if tuple(tiers) != TIERS:
        yield f"it was measured by {tiers}"
    found = re.findall(r"^node 0: (\S+) % of the pages, .*; node 1: .*: (\S+) % of the pages are remote at least", text, re.M)
    if len(found) < 3:
        yield "there is no line of nodes"
    for pages, remote in found[:3]:
        if float(pages) < 100 * ON_NODE or not 100 * LEAST_REMOTE <= float(remote) <= 100 * MOST_REMOTE:
            yield f"{pages} % on node 0 and {remote} % remote"
    said = next((json.loads(line) for line in lines if line.startswith('{"slept"')), {"slept": 0, "woke": 0})
    totals = next((json.loads(line)["totals"] for line in lines if line.startswith('{"vfriendly"')), {})
    for name, wanted, more in (("block futex", said["slept"], 2), ("wake futex", said["woke"], 2), ("fault", 3 * N, START)):
        count = totals.get(name, {"count": 0})["count"]
        if not wanted * (1 - COUNT) - 2 <= count <= wanted * (1 + COUNT) + more:
            yield f"{name}: {count} counted, {wanted} done"
    if re.findall(r"^status (\d+)$", text, re.M) != ["0"] * len(TIERS):
        yield "a status is another"


rig = Rig(*sys.argv[1:])
truth = os.path.join(rig.source, "test", "vfriendly-cli", "Inputs", "truth")
programs = {"/hot": rig.compiled("hot", runtime=False),
            "/truth": rig.compiled("truth", os.path.join(truth, "truth.c"), [os.path.join(truth, "shared.c"), "-g"], False)}
collectors = {f"/lib/{name}": rig.lib(name) for name in ("vfriendly-collect.bpf.o", "libvfsample.so")}
files = {**programs, **collectors, **libraries(),
         **python(rig, "measure", os.path.dirname(os.path.dirname(psutil.__file__)))}
initrd = initramfs.write(rig.file("guest.cpio"), rig.busybox, files, SCRIPT)
lines = machine.boot(rig.qemu, rig.kernel.image, initrd, CPUS, MEGABYTES, nodes=NODES, seen=lambda line: print(line[:300]))
wrong = list(judge(lines))
for words in wrong:
    print(f"WRONG: {words}")
print(f"measure: {len(wrong)} wrong")
sys.exit(bool(wrong))
