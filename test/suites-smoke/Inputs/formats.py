# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A passing and a failing test of each format of packages.py."""

import os

import packages
from run import load_file

SAID = {
    "automake": "PASS: a\nFAIL: b\n",
    "ctest": "1/2 Test #1: a ......   Passed    0.01 sec\n2/2 Test  #2: b ......***Failed    0.01 sec\n",
    "gtest": "[ RUN      ] a.x\n[       OK ] a.x (1 ms)\n[  FAILED  ] a.y (0 ms)\n",
    "tap": "1..2\nok 1 - a\nnot ok 2 - b\n",
    "libevent": "m/a: [forking] OK\nm/b: \n  FAIL x.c:1: no\n  [b FAILED]\n",
    "apr": "testatomic          : \\SUCCESS\ntestdso             : |FAILED 1 of 9\n",
}
for kind, text in SAID.items():
    print(kind, *(f"{m['name']}:{bool(m['ok'])}" for m in packages.FORMATS[kind].finditer(text)))

# Of KeyDB's tests of one name all must pass, and one that ends early has no last line.
keydb = load_file("keydb", os.path.join(os.path.dirname(packages.__file__), "rebuilt", "keydb.py"))
said = "[\033[0;32mok\033[0m]: a (2 ms)\n[err]: b in tests/unit/x.tcl\n[ok]: c 12345 (1 ms)\n[err]: c 54321 in tests/unit/x.tcl\n"
print("keydb", *(f"{name}:{ok}" for name, ok in keydb.read(said).items()))
