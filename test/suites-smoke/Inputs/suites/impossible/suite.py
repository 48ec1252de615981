# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A made-up suite that cannot be run anywhere."""

import bring

SENTENCE = "A made-up suite that cannot run"


def prepare(place, smoke):
    raise bring.NotRun("needs what nobody has")
