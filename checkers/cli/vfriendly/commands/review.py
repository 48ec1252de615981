# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly review: what a change brings."""

import argparse

from vfriendly import baseline, changes, reviewing
from vfriendly.commands import _common

SENTENCE = "Reports findings in code that a change edits, and findings that its base does not have."
EXAMPLE = (5, "-p build --diff main", "those of a change")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--diff", metavar="BASE", required=True,
                        help="commit or branch that the change is to be merged into")
    _common.project_options(parser)
    _common.output_options(parser)


def run(options: argparse.Namespace) -> int:
    known = baseline.read(options.baseline) if options.baseline else set()
    project = _common.open_project(options)
    change = changes.read(project.root, options.diff)
    edited = {*change.changed, *change.gone}
    units = reviewing.readers(project.units, edited, project.examiner,
                              reviewing.find_scan_deps(), project.jobs, change)
    result = _common.scan(project, units)
    result.findings = [f for f in result.findings if f.fingerprint not in known]
    result.findings = reviewing.of_change(result, change, units, project.examiner)
    result.hunks = change.hunks
    return _common.deliver(result, options)
