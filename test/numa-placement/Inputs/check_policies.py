# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_policies.py SOURCE BUILD OUT: a guest that sees one node, on a host with two that places its memory
by first touch or by turns (round-4K). Prints where the host's pages are, and what share of a program's
accesses would be remote if it uses all of its pages alike."""

import sys

from rig import NOBODY_ELSE, Rig

SIZE_MB = 24
PAGES = SIZE_MB * 256
# Of pages that the guest's kernel has for other things meanwhile.
NEAR = 0.1
# Pages of 4 KiB, as in the thesis: turns of 2 MiB are few.
HOST = f"{NOBODY_ELSE}; echo never > /sys/kernel/mm/transparent_hugepage/enabled;"
OWN, BOTH, COPIED = ("own, of vCPU 0", "own, of vCPU 1"), "of both, filled by vCPU 0", "half of that, copied by vCPU 1"
# Pages of the host by node, in multiples of SIZE_MB. Of what is copied, two blocks of 2 MB: the guest's
# kernel has freed old frames by then, and takes those, which stay where they are.
NEW = 4 / SIZE_MB
EXPECTED = {
    "first touch": {OWN[0]: (1, 0), OWN[1]: (0, 1), BOTH: (2, 0), COPIED: (0, NEW)},
    "round-4K": {OWN[0]: (0.5, 0.5), OWN[1]: (0.5, 0.5), BOTH: (1, 1), COPIED: (NEW / 2, NEW / 2)},
}


def imbalance(pages):
    """Of accesses, in percent: the thesis' measure, which is 100 for two nodes at most."""
    return 100 * abs(pages[0] - pages[1]) / sum(pages)


rig = Rig(*sys.argv[1:])
program = rig.compiled("policies", runtime=False)
cases = bad = 0
for policy, expected in EXPECTED.items():
    prefix = HOST + (" INTERLEAVE=1" if policy == "round-4K" else "")
    found = {}
    for result, pages in rig.opaque_guest({"policies": program}, f"/policies {SIZE_MB}", prefix):
        case = result["case"]
        found[case] = pages
        right = not result["error"] and all(abs(n / PAGES - share) <= NEAR * max(sum(expected[case]), 1)
                                            for n, share in zip(pages, expected[case]))
        cases, bad = cases + 1, bad + (not right)
        print(f"{policy}: {case}: {pages[0]} pages of node 0, {pages[1]} of node 1"
              f"{'' if right else ': WRONG, error %d' % result['error']}")
    own = sum(found[case][1 - vcpu] for vcpu, case in enumerate(OWN)) / sum(map(sum, (found[c] for c in OWN)))
    print(f"{policy}: each uses its own: {own:.0%} remote; both use all: 50% remote, imbalance of nodes {imbalance(found[BOTH]):.0f}%")
print(f"policies: {cases} cases, {bad} wrong")
sys.exit(bad > 0 or cases != 8)
