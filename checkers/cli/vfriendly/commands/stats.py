# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly stats: the counters that VF_STATS writes, for people."""

import argparse

from vfriendly import counters, escaping

SENTENCE = "Shows the counters that VF_STATS=FILE wrote, and the source line of each place that waited."


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE",
                        help="file that VF_STATS=FILE wrote; - is standard input")


def run(options: argparse.Namespace) -> int:
    for line in counters.render(counters.read(options.file), counters.Symbolizer()):
        print(escaping.terminal(line))
    return 0
