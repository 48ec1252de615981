# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A passing and a failing test of each format of packages.py."""

import packages

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
