# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A made-up suite whose program is started without the preload."""

from compare import Job, Suite

SENTENCE = "A made-up suite that loses the preload"


def prepare(place, smoke):
    return Suite([Job("lost", ["env", "-u", "LD_PRELOAD", "true"])], programs=("true",))
