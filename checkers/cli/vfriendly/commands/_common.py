# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scan, review, report and lsp have in common."""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from vfriendly import cache, database, escaping, formats, outputs, program, remarks, scanning, tools
from vfriendly.database import Unit
from vfriendly.errors import CLEAN, FINDINGS, INCOMPLETE, Refused
from vfriendly.measuring import joining, profile
from vfriendly.scanning import Problem, Result
from vfriendly.unit import Examiner

# Maximum of --timeout in seconds: no clock and no wait of the system overflows.
LONGEST = 1e9
# Maximum of --jobs: each is a thread of this process.
MOST_JOBS = 1024
LEVELS = ("note", "warning", "error", "never")


def project_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("project")
    group.add_argument("-p", "--build", metavar="BUILD", default=".",
                       help="folder of compile_commands.json, or that file [., or build/ and the like below it]")
    group.add_argument("--root", metavar="DIR",
                       help="print paths relative to this folder [root of the git work tree]")
    group.add_argument("--checks", metavar="GLOBS", default=tools.DEFAULT,
                       help="checks to run, as for clang-tidy [%(default)s]")
    group.add_argument("--remarks", action="store_true",
                       help="also compile, and show at each finding what the passes do there")
    group.add_argument("-j", "--jobs", type=int, metavar="N", default=0, help="units to examine at once [one per CPU]")
    group.add_argument("--scheduler", metavar="ADDRESS",
                       help="examine units on the workers of this dask scheduler, e.g. tcp://HOST:8786")
    group.add_argument("--timeout", type=float, metavar="SECONDS", default=600,
                       help="time limit for one unit [%(default)g]")
    group.add_argument("--cache", metavar="DIR", help="folder for results [one of the project in ~/.cache/vfriendly]")
    group.add_argument("--no-cache", action="store_true",
                       help="examine all units again, e.g. after adding a header that hides another")
    group.add_argument("--quiet", "-q", action="store_true", help="do not show progress")
    toolset = parser.add_argument_group("tools")
    toolset.add_argument("--clang-tidy", metavar="FILE", help="clang-tidy [that of LLVM 22]")
    toolset.add_argument("--clang", metavar="FILE", help="compiler for --remarks [that of LLVM 22]")
    toolset.add_argument("--module", metavar="FILE",
                         help=f"clang-tidy module [{tools.MODULE} of the build or installation]")
    toolset.add_argument("--plugin", metavar="FILE",
                         help=f"plugin for --remarks [{tools.PLUGIN} of the build or installation]")


def profile_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", metavar="FILE",
                        help="what vfriendly measure -o FILE wrote: show what findings cost, the most costly first")


def output_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=formats.NAMES, default="text", help="format of the findings [%(default)s]")
    group.add_argument("-o", "--output", metavar="FILE", help="file to write [standard output]")
    group.add_argument("--fail-on", choices=LEVELS, default="note",
                       help="lowest level of findings for exit status 1 [%(default)s]")
    group.add_argument("--baseline", metavar="FILE",
                       help="SARIF of an earlier run: report only findings that it does not have")


@dataclass
class Project:
    units: list[Unit]
    database: database.Database
    root: str
    tools: tools.Tools
    store: cache.Cache
    examiner: Examiner
    jobs: int
    began_ns: int
    options: argparse.Namespace
    measured: profile.Profile | None = None


def open_project(options: argparse.Namespace) -> Project:
    """Raises Refused for errors that would make the whole scan fail, before any unit."""
    if options.jobs < 0 or not 0 < options.timeout < LONGEST:
        raise Refused("--jobs and --timeout must be positive numbers")
    check_folder(getattr(options, "output", None))
    entries = database.read(options.build)
    units = entries.units
    measured = profile.read(options.profile) if getattr(options, "profile", None) else None
    checks = options.checks
    if measured and checks == tools.DEFAULT and any(s.what == "memory" for s in measured.stacks):
        checks = tools.DEFAULT_WITH_BLOCKS
    found = tools.find(options.clang_tidy, options.module, checks)
    if options.remarks:
        found = tools.with_plugin(found, options.clang, options.plugin)
    root = os.path.realpath(options.root or scanning.project_root(units, options.build))
    if not os.path.isdir(root):
        raise Refused(f"--root {root}: there is no such folder")
    store = _store(options)
    examiner = Examiner(found, store, options.timeout)
    return Project(units, entries, root, found, store, examiner,
                   min(options.jobs or len(os.sched_getaffinity(0)), MOST_JOBS), time.time_ns(), options, measured)


def check_folder(output: str | None) -> None:
    """Refuses an output file that cannot be created, before any work."""
    if output and not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        raise Refused(f"-o {output}: there is no such folder")


class Progress:
    """One line on a terminal that says how far long work is; elsewhere a line every 15 seconds."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._terminal = quiet, sys.stderr.isatty()
        self._last = 0.0 if self._terminal else time.monotonic()

    def at(self, where: str) -> None:
        now = time.monotonic()
        if self._quiet or (not self._terminal and now - self._last < 15):
            return
        self._last = now
        where = escaping.terminal(where)
        print(f"\r\033[K{where}" if self._terminal else f"vfriendly: {where}", end="" if self._terminal else "\n",
              file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal and not self._quiet:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _store(options: argparse.Namespace) -> cache.Cache:
    if options.no_cache:
        return cache.Cache(None)
    try:
        default = cache.default_folder(str(database.locate(options.build).parent))
        folder = Path(options.cache) if options.cache else default
    except (OSError, RuntimeError) as error:
        escaping.say(f"{error}; nothing is cached: name a folder with --cache DIR")
        return cache.Cache(None)
    try:
        return cache.Cache(folder)
    except OSError as error:
        if options.cache:
            raise Refused(f"--cache {folder}: {error.strerror}") from error
        escaping.say(f"{folder}: {error.strerror}; nothing is cached: name a folder with --cache DIR")
        return cache.Cache(None)


def scan(project: Project, units: list[Unit]) -> Result:
    """Returns the merged result of these units of the project."""
    options = project.options
    runner = _runner(project)
    outcomes = scanning.outcomes_of(units, runner, options.quiet)
    chosen = set(units)
    # Of other units of the program it is known what they told when they were last examined.
    others = [o for u in project.units if u not in chosen and (o := project.examiner.cached(u))]
    outcomes = program.complete(
        outcomes, others, lambda again: scanning.outcomes_of(again, _runner(project), quiet=True))
    result = scanning.gather(outcomes, project.root)
    result.other_languages = project.database.others
    result.problems += [Problem(project.database.path, "unusable", why) for why in project.database.unusable]
    if options.remarks:
        compiler = remarks.Compiler(project.tools, project.store, options.timeout)
        # Remarks are only added to findings, so units without findings are not compiled.
        wanted = [u for u, o in outcomes if o.diagnostics]
        runs = scanning.in_threads(compiler, project.jobs, compiler.stop)
        remarks.join(result.findings, scanning.remarks_of(wanted, runs), result.sources)
    project.store.files.save()
    if project.measured:
        joining.join(result, project.measured)
    return result


def _runner(project: Project) -> scanning.Runner:
    address = project.options.scheduler
    if not address:
        return scanning.in_threads(project.examiner, project.jobs, project.examiner.stop)
    try:
        from vfriendly import cluster
    except ImportError as error:
        raise Refused(f"--scheduler needs distributed: pip install distributed ({error})") from error
    return cluster.on_cluster(address, project.examiner)


def exit_status(result: Result, fail_on: str) -> int:
    if result.problems:
        return INCOMPLETE
    if fail_on == "never":
        return CLEAN
    least = LEVELS.index(fail_on)
    worst = max((LEVELS.index(formats.level(f)) for f in result.findings), default=-1)
    return FINDINGS if worst >= least else CLEAN


def deliver(result: Result, options: argparse.Namespace) -> int:
    shown = options.format == "text" and not options.output and sys.stdout.isatty()
    put(formats.write("terminal" if shown else options.format, result), options.output)
    if options.format != "text" or options.output:
        from vfriendly.formats.text import summary
        escaping.say(summary(result))
    return exit_status(result, options.fail_on)


def put(text: str | bytes, output: str | None) -> None:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    if output:
        try:
            outputs.write(Path(output).absolute(), data)
        except OSError as error:
            raise Refused(f"-o {output}: {error.strerror}") from error
    else:
        sys.stdout.buffer.write(data)
