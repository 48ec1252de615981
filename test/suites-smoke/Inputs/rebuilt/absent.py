# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program that cannot be had here."""

import bring

SENTENCE = "not to be had"


def prepare(_):
    raise bring.NotRun("has no source")
