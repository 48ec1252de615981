# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A made-up suite of one program, one job a test."""

import os

import bring
from compare import Job, Suite

SENTENCE = "A made-up suite"
INPUTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def prepare(place, smoke):
    program = place.path("subject")
    bring.call(["cc", os.path.join(INPUTS, "subject.c"), "-o", program], "cannot build the subject")
    tests = ("fails", "hangs", "luck", "page", "skips", "steady")
    return Suite([Job(t, [program, t, place.path(f"runs-of-{t}")], timeout=2) for t in tests],
                 parallel=2)
