# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The errors that end a run, and the exit statuses."""

CLEAN = 0
FINDINGS = 1
UNUSABLE = 2  # usage, or a tool that is missing or does not work
INCOMPLETE = 3  # a unit was not examined, or only in part


class Refused(Exception):
    """The run cannot start. Its text is one line: what is wrong, and what to do."""
