# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_nodes.py SOURCE BUILD OUT NODES: boots one guest of that many nodes and runs all that
needs several in it. Prints pages by node of each case, and what is not as it has to be."""

import json
import os
import sys

from rig import BOUND, CPUS, NOBODY_ELSE, Rig

from guest import initramfs, machine

# The first node holds the kernel, a range and one of its copies.
MEGABYTES = 1536
# Of each case: a huge page that two slices share, which vf_numa_claim moves with either,
# is 1 % of a slice.
SIZE_MB = 96
PRELOADED_MB = 32
MOSTLY, EVEN = 0.95, 0.02


def wrong(result, condition, words):
    if not condition:
        print(f"WRONG: {result['case']}: {words}: {result['pages']}, own {result['own']}")
    return not condition


def is_even(pages):
    mean = sum(pages) / nodes
    return all(abs(n - mean) <= EVEN * mean for n in pages[:nodes])


def judge(results):
    """How many cases are not as they have to be. The machine has a CPU on each of the
    first CPUS nodes; the serial writer is on the first."""
    by_name = {r["case"]: r for r in results}
    # A block of malloc begins within a mapping, so there numa_maps has a page more.
    bad = sum(wrong(r, r["numa_maps"] == 1, "numa_maps and move_pages differ")
              for r in results if r["case"] not in PRELOADED)
    for name in ("serial", "ft", "nothing", "nothing, preloaded"):
        r = by_name[name]
        bad += wrong(r, max(r["pages"]) >= MOSTLY * sum(r["pages"]), "is not on one node")
    # Linux 6.1 has no weighted interleaving.
    for name in ("r4k", "weighted", "interleave, preloaded", "unbound, preloaded"):
        bad += wrong(by_name[name], is_even(by_name[name]["pages"]), "is not even")
    for name in ("blocks", "claim next touch", "claim now", "replicate", "blocks, preloaded"):
        bad += wrong(by_name[name], by_name[name]["own"] >= MOSTLY, "is not on its user's node")
    for name in PRELOADED:
        r = by_name[f"{name}, small blocks"]
        bad += wrong(r, r["own"] >= MOSTLY, "are not on one node")
    return bad


# A program without a call of ours, and its environment.
PRELOADED = {
    "nothing": "",
    "nothing, preloaded": "LD_PRELOAD=/libvfnuma.so",
    "interleave, preloaded": "LD_PRELOAD=/libvfnuma.so VF_NUMA=interleave VF_NUMA_PIN=core",
    "blocks, preloaded": "LD_PRELOAD=/libvfnuma.so VF_NUMA=blocks VF_NUMA_PIN=core",
    "unbound, preloaded": "LD_PRELOAD=/libvfnuma.so VF_NUMA=blocks VF_NUMA_PIN=all",
}

*where, nodes = sys.argv[1:]
nodes = int(nodes)
rig = Rig(*where)
field = os.path.join(rig.source, "examples", "numa-placement", "field.c")
programs = {
    "place": rig.compiled("place"),
    "before": rig.compiled("before", field, runtime=False),
    "preload": rig.compiled("preload", runtime=False),
    "libvfnuma.so": rig.lib("libvfnuma.so"),
    "after": rig.compiled("after", field, [f"-fpass-plugin={rig.lib('libvfriendly.so')}"]),
}
SCRIPT = f"""{BOUND}
{NOBODY_ELSE}
/place {SIZE_MB}
for p in before after; do echo the example $p: $(/$p); done
unset OMP_PLACES OMP_PROC_BIND
""" + "".join(f"{environment} /preload {PRELOADED_MB} '{name}'\n" for name, environment in PRELOADED.items()) + """
echo threads of VF_NUMA_PIN=node: $(LD_PRELOAD=/libvfnuma.so VF_NUMA_PIN=node /preload 2 x | tail -n 1)
"""
initrd = initramfs.write(rig.file("guest.cpio"), rig.busybox, programs, SCRIPT)
lines = machine.boot(rig.qemu, rig.kernel.image, initrd, CPUS, MEGABYTES, nodes=nodes)
results = []
for line in lines:
    print(line)
    if line.startswith('{"case"'):
        results.append(json.loads(line))
bad = judge(results)
print(f"guest of {nodes} nodes: {len(results)} cases, {bad} wrong")
sys.exit(bad > 0)
