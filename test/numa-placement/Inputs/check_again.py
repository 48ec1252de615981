# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_again.py SOURCE BUILD OUT: a guest that sees one node, on a host with two, uses memory
that it used before: without and with free-page reporting of a virtio balloon."""

import os
import sys

from rig import NOBODY_ELSE, Rig

from guest import packages

# Of the 300 that are free after the guest's start: so most is used again.
SIZE_MB = 224
PAGES = SIZE_MB * 256
# The driver reports free pages after two seconds; an emulated machine needs longer.
SECONDS = 12
# Reported are blocks of 2 MB and more, and what the guest used meanwhile is not free.
MOST, FEW = 0.8, 0.35
MODULES = ("virtio_ring", "virtio", "virtio_mmio", "virtio_balloon")


def expected(case, pages, again):
    """Returns True if the pages that the host gave are as they should be."""
    share = [n / PAGES for n in pages]
    if case == "reported, by vCPU 1":
        return share[1] >= MOST
    if case == "not reported, by vCPU 1":
        return sum(share) <= FEW and again >= 1 - FEW
    return share[0] >= MOST


rig = Rig(*sys.argv[1:])
paths = packages.more_modules(os.path.join(rig.build, "guest"), rig.kernel, MODULES)
modules = {os.path.basename(path): path for path in paths}
script = "\n".join((f"/again 'not reported' {SIZE_MB} 0 || exit 1",
                    *(f"insmod /{m} || exit 1" for m in modules), f"sleep {SECONDS}",
                    f"/again reported {SIZE_MB} {SECONDS}"))
cases = bad = 0
for result, pages in rig.opaque_guest({"again": rig.compiled("again", runtime=False), **modules}, script, f"{NOBODY_ELSE}; BALLOON=1"):
    cases += 1
    again = result["again"] / PAGES
    right = expected(result["case"], pages, again)
    bad += not right
    print(f"{result['case']}: {again:.0%} used before, the host gave {pages[0]} pages of node 0 and {pages[1]} of node 1"
          f"{'' if right else ': WRONG'}")
print(f"memory used again: {cases} cases, {bad} wrong")
sys.exit(bad > 0)
