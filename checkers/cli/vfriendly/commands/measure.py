# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly measure: what a program waits for, and at which lines."""

import argparse
import os
import sys

from vfriendly import programs, remedies
from vfriendly.commands import _common
from vfriendly.errors import CLEAN, Refused
from vfriendly.measuring import collecting, comparing, table

SENTENCE = "Measures what a program loses to waits, wake-ups, shootdowns and page faults, and at which lines."
TAKES_COMMAND = True
EPILOG = "exit status: 0 measured, also if the command fails; 2 wrong usage or nothing can be measured; 130 interrupted"
INTERRUPTED = 130


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("compare", nargs="*", metavar="compare BASE NEW",
                        help="compare profiles; several of each, with commas between, have intervals")
    parser.add_argument("--overhead", choices=comparing.SCENARIOS,
                        help="with compare: BASE is native and NEW virtual; UC: alone, OC: two virtual machines on the "
                             "CPUs of one, OC2: the same, beside two native copies")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-p", "--pid", type=int, metavar="PID", help="measure a running process and its children")
    what.add_argument("--system", action="store_true", help="measure all processes")
    parser.add_argument("--remedies", metavar="A+B", help="start the command with these, as vfriendly run does")
    parser.add_argument("--seconds", type=float, default=0, metavar="N", help="end after this time [when it ends]")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write the profile, for report, scan and compare")
    parser.add_argument("-n", "--places", type=int, default=10, metavar="N", help="places to list [%(default)s]")
    parser.add_argument("--without-bpf", action="store_true", help="use what an ordinary user may use")
    parser.add_argument("--quiet", "-q", action="store_true", help="do not show progress")


def _compare(options: argparse.Namespace) -> int:
    if options.compare[0] != "compare" or len(options.compare) != 3:
        raise Refused(f"measure {' '.join(options.compare)}: put a command after --, or compare BASE NEW")
    base, new = (comparing.load(names) for names in options.compare[1:])
    for line in comparing.lines(base, new):
        print(line)
    if options.overhead:
        print()
        for line in comparing.overhead(base, new, options.overhead):
            print(line)
    return CLEAN


def run(options: argparse.Namespace) -> int:
    if options.compare:
        return _compare(options)
    if bool(options.command) == bool(options.pid or options.system):
        raise Refused("give one of -p PID, --system, and a command after --")
    _common.check_folder(options.output)
    command, environment = options.command, dict(os.environ)
    if options.command:
        program = programs.find(options.command)
        if options.remedies:
            remedy = remedies.usable(options.remedies, program)
            command, environment = [*remedy.prefix, *command], remedy.environment(environment)
    target = collecting.Target(command, options.pid or 0, options.system, options.seconds, environment)
    show = _common.Progress(options.quiet)
    done = collecting.collect(target, show.at, "events" if options.without_bpf else "bpf")
    show.end()
    if options.output:
        _common.put(done.profile.to_json(), options.output)
    for line in table.lines(done.profile, options.places):
        print(line)
    if done.status:
        print(f"vfriendly: the command ended with status {done.status}", file=sys.stderr)
    return INTERRUPTED if done.interrupted else CLEAN
