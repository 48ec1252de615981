# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_opaque.py SOURCE BUILD OUT: a guest that sees one node, in one that has two. Its
VMM says on which node of the outer one the pages lie that a vCPU of the inner touched."""

import sys

from rig import BOUND, CPUS, NOBODY_ELSE, Rig

from guest import machine, nested

# Of what the host gave: the rest is the guest's kernel's, which runs on either CPU.
MOSTLY = 0.9
# What the guest's start has used already the host does not give again.
LEAST_GIVEN = 0.6
NODES = 2
# Of what two vCPUs touch at the same time, one or two huge pages in 24 were found on the
# other's node, and none if they took turns: so more for those.
SIZE_MB, BLOCKS_MB = 48, 96


def share(pages, node):
    return pages[node] / max(sum(pages), 1)


def is_right(case, pages):
    megabytes = BLOCKS_MB if case == "blocks" else SIZE_MB
    enough = sum(pages) * 4 // 1024 >= LEAST_GIVEN * megabytes
    if case == "blocks":  # half of it by each vCPU
        return enough and min(share(pages, 0), share(pages, 1)) >= MOSTLY / 2
    return enough and share(pages, int(case[-1])) >= MOSTLY


rig = Rig(*sys.argv[1:])
vmm = nested.build_vmm("clang", rig.out)
initrd = nested.write(rig.out, rig.kernel, rig.busybox, vmm, CPUS, {"touch": rig.compiled("touch")},
                      f"{BOUND}\n/touch {SIZE_MB} {BLOCKS_MB}", counters=[nested.NODES], prefix=f"{NOBODY_ELSE};")
counter = nested.Counter()
lines = machine.boot(rig.qemu, rig.kernel.image, initrd, CPUS, nested.L1_MEGABYTES, name=nested.L1,
                     seen=counter.line, nodes=NODES)
nested.check(lines)
bad = 0
for result in counter.results:
    found = result["exits"].get("counter", {})
    pages = [found.get(f"N{node}", 0) for node in range(NODES)]
    right = is_right(result["case"], pages)
    bad += not right
    print(f"{result['case']}: the host's pages by node {pages}{'' if right else ': WRONG'}")
print(f"opaque guest: {len(counter.results)} cases, {bad} wrong")
sys.exit(bad > 0)
