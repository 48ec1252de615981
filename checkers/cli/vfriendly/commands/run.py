# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly run: starts a command with remedies."""

import argparse
import os

from vfriendly import chosen, cpu_limit, escaping, programs, remedies
from vfriendly.errors import Refused

SENTENCE = "Starts a command with preloaded libraries and settings, after a check that they take effect in it."
EXAMPLE = (3, "malloc -- ./prog", "the program with one of them")
TAKES_COMMAND = True
EPILOG = "exit status: that of the command; 2 if it was not started"


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("remedies", nargs="?", metavar="REMEDIES",
                        help="such as pthread+malloc; vfriendly try finds the best one")
    parser.add_argument("--auto", action="store_true", help="use what vfriendly try found best for this program")
    parser.add_argument("--show", action="store_true", help="only print the shell's line")


def run(options: argparse.Namespace) -> int:
    """Replaces this process, so that signals and the exit status are the command's own."""
    if bool(options.remedies) == options.auto:
        raise Refused("give --auto or remedies, such as pthread+malloc, before --")
    program = programs.find(options.command)
    if options.auto:
        name = chosen.load(program.path)
        if not name:
            raise Refused(f"{program.path}: no remedy is known to help: run vfriendly try -- first, or name one")
        escaping.say(f"{name}, as vfriendly try found")
    else:
        name = options.remedies
    counts = cpu_limit.thread_counts(os.environ) if options.auto else {}
    for variable, value in counts.items():
        escaping.say(f"{variable}={value}, as the CPU limit is lower than the number of CPUs")
    remedy = remedies.usable(name, program)
    if options.show:
        print(remedy.line(options.command))
        return 0
    words = remedy.command(options.command)
    try:
        os.execvpe(words[0], words, remedy.environment({**os.environ, **counts}))
    except OSError as error:
        raise Refused(f"{words[0]}: {error.strerror}") from None
