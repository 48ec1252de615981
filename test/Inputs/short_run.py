# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which part of a long list of cases a short test run takes.

test/run.py passes the slice in VF_TEST_SLICE: a number that grows by one with each
commit, or "all". Without the variable a script takes everything.
"""

import os
import zlib


def is_full():
    return os.environ.get("VF_TEST_SLICE", "all") == "all"


def slice_of(cases, one_in, salt=""):
    """Returns every one_in-th case, the first of them chosen by slice and salt; all of
    them in a full run. Successive slices cover all cases; salt, a file's name say, keeps
    tests of one run from all taking the same case. Never empty when cases is not."""
    cases = list(cases)
    if is_full():
        return cases
    one_in = min(one_in, len(cases)) or 1
    return cases[(int(os.environ["VF_TEST_SLICE"]) + zlib.crc32(salt.encode())) % one_in :: one_in]
