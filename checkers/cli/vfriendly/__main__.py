# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m vfriendly."""

import sys

from vfriendly.cli import main

sys.exit(main())
