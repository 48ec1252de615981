# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that a guest releases, for its host to place anew: compiled, and its queues tested as a
program (test/kernel/numa-queue.c). No guest runs it yet: its VMM has to offer the policies."""

import os

SENTENCE = "Pages that a guest releases and its host places anew: --objects and --applies only."
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.config")
WORKLOADS = {}
CHECKS = {}
QEMU = None
