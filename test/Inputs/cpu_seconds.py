# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CPU seconds of each test, user and system, for test/run.py.

Time that passes depends on what else the machine does; CPU seconds tell what a test costs.
"""

import resource

import lit.formats


def of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class CountedShTest(lit.formats.ShTest):
    """A shell test, after which a line with its CPU seconds and name is in the file, if one is
    given. A process of lit's runs one test at a time."""

    def __init__(self, file, **options):
        super().__init__(**options)
        self.file = file

    def execute(self, test, lit_config):
        before = of_children()
        result = super().execute(test, lit_config)
        if self.file:
            # One write to a file that is appended to does not mix with those of others.
            with open(self.file, "a", encoding="utf-8") as f:
                f.write(f"{of_children() - before:.2f} {'/'.join(test.path_in_suite)}\n")
        return result
