# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints the names that the C headers of a folder declare and do not define, but for
those of other libraries, and the state shared by copies of this one; or checks that a
list of symbols has them."""

import glob
import os
import re
import sys

SHARED = {"vf_blind_1", "vf_limit_1", "vf_numa_shared_1", "vf_spin_shared_1", "vf_parking_2", "vf_generations_1", "vf_reports_1", "vf_sites_1"}

OTHERS = {"malloc.h"}  # libvfmalloc's

folder = sys.argv[1]
names = set(SHARED)
for path in glob.glob(os.path.join(folder, "*.h")):
    if os.path.basename(path) in OTHERS:
        continue
    text = re.sub(r"/\*.*?\*/", "", open(path).read(), flags=re.S)
    text = re.sub(r"#if.*?#endif", "", text.split("extern \"C\"")[1].split("#endif", 1)[1],
                  flags=re.S)
    text = re.sub(r"\{[^{}]*(\{[^{}]*\}[^{}]*)*\}", "{}", text)
    text = re.sub(r"\)\s*\{\}", ");", text)  # a definition ends a statement, too
    for statement in text.split(";"):
        if "static inline" in statement or "typedef" in statement:
            continue
        names |= set(re.findall(r"\b(vf_\w+)\(", statement)[:1])
        names |= set(re.findall(r"extern \w+ (vf_\w+)", statement))
if sys.argv[2:3] == ["--missing-in"]:
    have = set(open(sys.argv[3]).read().split())
    missing = sorted(names - have)
    print("\n".join(missing))
    sys.exit(bool(missing))
print("\n".join(sorted(names)))
