# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly scan: the whole project."""

import argparse
import os
import sys

from vfriendly import baseline, fixes, reviewing
from vfriendly.commands import _common
from vfriendly.fingerprint import relative

SENTENCE = "Examines a project; a second run only what has changed."


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help="report only on these sources and headers, by the units that read them [all]")
    _common.project_options(parser)
    _common.output_options(parser)
    parser.add_argument("--fix", action="store_true",
                        help="apply every fix, and report what is left")


def run(options: argparse.Namespace) -> int:
    known = baseline.read(options.baseline) if options.baseline else None
    project = _common.open_project(options)
    units, wanted = project.units, {os.path.realpath(f) for f in options.files}
    if wanted:
        units = reviewing.readers(units, wanted, project.examiner, reviewing.find_scan_deps(), project.jobs)
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
            print(f"vfriendly: {place}: its fix was not applied: {why}", file=sys.stderr)
        print(f"vfriendly: {len(done.applied)} fixes applied in {len(done.files)} files",
              file=sys.stderr)
        applied = {id(f) for f in done.applied}
        result.findings = [f for f in result.findings if id(f) not in applied]
    return _common.deliver(result, options)


