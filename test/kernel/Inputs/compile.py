# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""compile.py ROOT OUT COMPILER FILE [WORD...]: as the rig compiles what L2 runs; with words
for the compiler, a program that uses libvfrt."""

import os
import sys

root, out, compiler, source, *words = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "test", "rigs"), os.path.join(root, "test", "rigs", "bench")]

from guest import nested  # noqa: E402
from kernel import rig  # noqa: E402

nested.compile_program(source, os.path.join(out, os.path.basename(source)[:-2]), compiler,
                       [*words, *rig.runtime()] if words else [])
