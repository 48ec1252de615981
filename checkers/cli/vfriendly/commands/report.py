# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly report: the findings of a project as one HTML page."""

import argparse
import os

from vfriendly import escaping, page
from vfriendly.commands import _common
from vfriendly.formats.text import summary

SENTENCE = "Writes an HTML page with each finding, its source and its fix; with --remarks, also what the passes do."


def options(parser: argparse.ArgumentParser) -> None:
    _common.project_options(parser)
    parser.add_argument("-o", "--output", metavar="FILE", default="vfriendly.html",
                        help="file to write [%(default)s]")
    _common.profile_option(parser)
    parser.add_argument("--title", help="title of the page [the name of the project's folder]")
    parser.add_argument("--fail-on", choices=_common.LEVELS, default="never",
                        help="lowest level of findings for exit status 1 [%(default)s]")


def run(options: argparse.Namespace) -> int:
    project = _common.open_project(options)
    result = _common.scan(project, project.units)
    title = options.title or f"vfriendly: {os.path.basename(project.root) or project.root}"
    _common.put(page.write(result, title), options.output)
    escaping.say(f"{summary(result)}; wrote {options.output}")
    return _common.exit_status(result, options.fail_on)
