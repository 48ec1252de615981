# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly scan: the whole project."""

import argparse
import os

from vfriendly import baseline, database, escaping, fixes, reviewing
from vfriendly.commands import _common
from vfriendly.errors import Refused
from vfriendly.fingerprint import relative

SENTENCE = "Examines a project; a later run examines only what has changed."
EXAMPLE = (4, "-p build", "the places in the sources; --fix rewrites them")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help="report only findings in these sources and headers, or in these folders; "
                             "examines the units that read them [all]")
    _common.project_options(parser)
    _common.output_options(parser)
    _common.profile_option(parser)
    parser.add_argument("--fix", action="store_true",
                        help="apply every fix, and report the remaining findings")


def _sources(names: list[str]) -> set[str]:
    """Returns the files that the arguments name; for a folder, the sources and headers in and below it."""
    found = set[str]()
    for name in names:
        if not os.path.exists(name):
            raise Refused(f"{name}: no such file or folder")
        if not os.path.isdir(name):
            found.add(os.path.realpath(name))
            continue
        below = {os.path.realpath(os.path.join(folder, file))
                 for folder, _, files in os.walk(name) for file in files
                 if os.path.splitext(file)[1] in database.SUFFIXES}
        if not below:
            raise Refused(f"{name}: there is no source or header in this folder")
        found |= below
    return found


def run(options: argparse.Namespace) -> int:
    known = baseline.read(options.baseline) if options.baseline else None
    project = _common.open_project(options)
    units, wanted = project.units, _sources(options.files)
    if wanted:
        units = reviewing.readers(units, wanted, project.examiner, reviewing.find_scan_deps(), project.jobs)
        if not units:
            escaping.say(f"no unit of {database.locate(options.build)} reads {' '.join(options.files)}: "
                         "nothing was examined")
    result = _common.scan(project, units)
    if wanted:
        result.findings = [f for f in result.findings if f.path in wanted]
    if known is not None:
        result.findings = [f for f in result.findings if f.fingerprint not in known]
    if options.fix:
        done = fixes.plan(result.findings, result.sources, result.root)
        fixes.write(done, project.began_ns)
        for finding, why in done.left:
            place = f"{relative(finding.path, result.root)}:{finding.line}"
            escaping.say(f"{place}: its fix was not applied: {why}")
        escaping.say(f"{len(done.applied)} fixes applied in {len(done.files)} files")
        if what := fixes.needs(done.applied):
            escaping.say(f"the fixes use {what}")
        applied = {id(f) for f in done.applied}
        result.findings = [f for f in result.findings if id(f) not in applied]
    return _common.deliver(result, options)


