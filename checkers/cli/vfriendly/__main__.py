# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python3 -m vfriendly."""

import sys

# Python looks for modules in the working directory first, which may be a tree of others that has a yaml.py.
# The package itself is known by now.
if not getattr(sys.flags, "safe_path", False):  # of Python 3.11
    del sys.path[0]

from vfriendly.cli import main

sys.exit(main())
