# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""added_file.py FOLDER NAME: prints the file that one of the folder's patches adds."""

import glob
import os
import sys

folder, name = sys.argv[1:]
for patch in sorted(glob.glob(os.path.join(folder, "*.patch"))):
    with open(patch, encoding="utf-8") as file:
        parts = file.read().split("\ndiff --git ")[1:]
    for part in parts:
        if part.startswith(f"a/{name} b/{name}\nnew file"):
            hunk = part[part.index("\n@@"):].split("\n")[2:]
            print("\n".join(line[1:] for line in hunk if line.startswith("+")))
            sys.exit()
sys.exit(f"no patch in {folder} adds {name}")
