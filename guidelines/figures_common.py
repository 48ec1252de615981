# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the renderers of all tables use."""
import sys


def fail(why):
    print(f"figures: {why}", file=sys.stderr)
    sys.exit(2)


def digits(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
