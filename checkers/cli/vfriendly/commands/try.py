# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly try: which remedies that need no rebuild make a command faster."""

import argparse
import json
import os
import shlex
from collections.abc import Callable

from vfriendly import chosen, escaping, programs, remedies, running, trying
from vfriendly.commands import _common
from vfriendly.errors import CLEAN, Refused

SENTENCE = "Runs a command as it is and with each remedy that needs no rebuild, and compares times or other figures."
EXAMPLE = (2, "-- ./prog", "whether a remedy that needs no rebuild helps")
TAKES_COMMAND = True
EPILOG = """example: vfriendly try --metric 'sum: ([\\d.]+)' -- ./prog ARGUMENTS
         vfriendly try --server './server --port 1234' --load './client -p 1234' --metric 'rate: ([\\d.]+)'
exit status: 0 the trial ended, 2 wrong usage or the command fails as it is, 130 interrupted"""
INTERRUPTED = 130


def options(parser: argparse.ArgumentParser) -> None:
    def number(higher: bool) -> Callable[[str], tuple[str, bool]]:
        return lambda text: (text, higher)

    parser.add_argument("--remedies", metavar="A,B",
                        help=f"of {remedies.NAMES}, VARIABLE=VALUE, and several joined by + "
                             "[those that suit the program]")
    parser.add_argument("--reps", type=int, default=7, metavar="N",
                        help="runs of each, after one to warm up [%(default)s]")
    parser.add_argument("--metric", action="append", default=[], metavar="REGEX", type=number(higher=True),
                        help="also compare a number that the command prints, such as 'requests per second: ([\\d.]+)'; "
                             "higher is better. The first metric decides, else the time")
    parser.add_argument("--metric-lower", action="append", dest="metric", metavar="REGEX", type=number(higher=False),
                        help="likewise, lower is better")
    parser.add_argument("--server", metavar="CMD",
                        help="start CMD with each remedy instead, and measure --load while it runs")
    parser.add_argument("--load", metavar="CMD", help="shell command that loads the server, once it listens")
    parser.add_argument("--builds", metavar="A=CMD,B=CMD",
                        help="compare these commands, each with the arguments after --, or in --server instead of {}")
    parser.add_argument("--timeout", type=float, metavar="SECONDS",
                        help="end of a run [10 times the first run of the command as it is]")
    parser.add_argument("-o", "--output", metavar="FILE", help="also write all figures as JSON")
    parser.add_argument("--quiet", "-q", action="store_true", help="do not show progress")


def _metrics(options: argparse.Namespace) -> list[trying.Metric]:
    return [*(trying.metric(text, higher) for text, higher in options.metric), trying.WALL, trying.CPU]


def _variant(name: str, words: list[str], remedy: remedies.Remedy, load: str | None) -> trying.Variant:
    full = remedy.command(words)

    def once(timeout: float | None) -> running.Run:
        environment = remedy.environment(os.environ)
        if load:
            return running.served(full, environment, load, timeout)
        return running.command(full, environment, timeout)

    return trying.Variant(name, remedy.line(words), once, 0 if remedy is remedies.NONE else remedy.parts)


def _builds(text: str) -> dict[str, list[str]]:
    builds = {}
    for part in text.split(","):
        name, equals, command = part.partition("=")
        if not equals or not name or not command.strip():
            raise Refused(f"--builds {text}: give NAME=COMMAND for each, with commas between")
        builds[name] = shlex.split(command)
    if len(builds) < 2:
        raise Refused(f"--builds {text}: one build has nothing to be compared with")
    return builds


def _variants(options: argparse.Namespace) -> tuple[list[trying.Variant], list[str], str]:
    """Returns the variants, the lines about remedies left out, and the program whose remedies these are."""
    words = shlex.split(options.server) if options.server else options.command
    if options.builds:
        builds = _builds(options.builds)
        made = []
        for name, build in builds.items():
            full = build + words
            if options.server:
                full = [w for word in words for w in (build if word == "{}" else [word])]
            programs.find(full)
            made.append(_variant(name, full, remedies.NONE, options.load))
        return made, [], ""
    program = programs.find(words)
    left: list[str] = []
    if options.remedies:
        chosen_ones = [remedies.usable(n, program) for n in options.remedies.split(",")]
    else:
        chosen_ones, left = remedies.suitable(program)
    made = [_variant(r.name, words, r, options.load) for r in [remedies.NONE, *chosen_ones]]
    return made, left, program.path


def run(options: argparse.Namespace) -> int:
    if options.reps < 1:
        raise Refused("--reps must be at least 1")
    if bool(options.server) != bool(options.load):
        raise Refused("--server and --load go together: the load ends, the server is stopped")
    if options.server and options.command:
        raise Refused("give --server or a command after --, not both")
    _common.check_folder(options.output)
    variants, left, program = _variants(options)
    for line in left:
        escaping.say(f"not tried: {line}")
    if len(variants) < 2:
        raise Refused("nothing is left to try")
    show = _common.Progress(options.quiet)
    trial = trying.Trial(variants, _metrics(options), options.reps, show.at)
    status = CLEAN
    try:
        trial.go(options.timeout)
    except KeyboardInterrupt:
        status = INTERRUPTED
    show.end()
    if not trial.done:
        escaping.say("interrupted before the first round ended: nothing was compared")
        return status
    print(f"{trial.done} runs of each, in turn; medians; gain: how many times better than {variants[0].name}, "
          "with 95 % intervals for the whole table")
    for line in [*trial.table(), *trial.verdict()]:
        print(escaping.terminal(line))
    best = trial.best(trial.metrics[0])
    if best:
        print(f"  {best.line}")
        if program and status == CLEAN:
            chosen.store(program, best.name, trial.gain(best, trial.metrics[0]).text())
            print(f"  or: vfriendly run {best.name} -- COMMAND; vfriendly run --auto does the same from now on")
    if options.output:
        _common.put(json.dumps(trial.to_json(), indent=1) + "\n", options.output)
    return status
