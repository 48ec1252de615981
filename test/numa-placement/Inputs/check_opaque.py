# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_opaque.py SOURCE BUILD OUT: a guest that sees one node, in one that has two. Its
VMM says on which node of the outer one the pages lie that a vCPU of the inner touched."""

import sys

from rig import BOUND, NOBODY_ELSE, Rig

# Of what the host gave: the rest is the guest's kernel's, which runs on either CPU.
MOSTLY = 0.9
# What the guest's start has used already the host does not give again.
LEAST_GIVEN = 0.6
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
cases = bad = 0
for result, pages in rig.opaque_guest({"touch": rig.compiled("touch")}, f"{BOUND}\n/touch {SIZE_MB} {BLOCKS_MB}", f"{NOBODY_ELSE};"):
    cases += 1
    right = is_right(result["case"], pages)
    bad += not right
    print(f"{result['case']}: the host's pages by node {pages}{'' if right else ': WRONG'}")
print(f"opaque guest: {cases} cases, {bad} wrong")
sys.exit(bad > 0)
