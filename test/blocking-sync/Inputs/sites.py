# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print the lock sites of a VF_STATS=1 report, a line each, by source line: sites.py REPORT"""
import json
import os
import subprocess
import sys

LONG = 1 << 24  # ns: what the tests wait on purpose takes longer, and nothing else does


def length(times):
    return "never" if not times else "long" if max(map(int, times)) >= LONG else "short"


for site in json.load(open(sys.argv[1]))["vfrt"]["sites"]:
    module, offset = site["site"].rsplit("+", 1)
    line = subprocess.run(["llvm-symbolizer", "--output-style=GNU", "-e", module, offset],
                          check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    counts = " ".join(f"{name}={site[name]}" for name in ("acquisitions", "contended", "spun", "blocked", "wakes"))
    print(os.path.basename(line).split(" ")[0], counts, "waited=" + length(site["wait_ns"]), "held=" + length(site["hold_ns"]))
