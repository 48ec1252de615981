# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profiles of made-up stacks."""

from vfriendly.measuring.profile import Profile, Stack
from vfriendly.measuring.symbols import Frame


def frame(function, file, line, module="/bin/app"):
    return Frame(function, str(file), line, module, 0x1000 + line)


def stack(what, cause, count, seconds, *frames, call=""):
    return Stack(what, cause, call, count, seconds, 0.0, frames)


def profile_of(root, *stacks):
    return Profile(["./app"], "BPF", ["something: needs root"], 2, 4.0, 3.0, 1.0, 0.0, 0.0, 0.5,
                   {"shootdown madvise": {"count": 70, "seconds": 0.0}}, {"beside_s": 0.01, "samples": 9.0}, list(stacks))
