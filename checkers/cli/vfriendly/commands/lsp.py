# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vfriendly lsp: findings in an editor."""

import argparse

from vfriendly.commands import _common
from vfriendly.errors import CLEAN, Refused

SENTENCE = "Serves findings and fixes to an editor, on open and on save (needs pygls)."


def options(parser: argparse.ArgumentParser) -> None:
    _common.project_options(parser)


def run(options: argparse.Namespace) -> int:
    try:
        from vfriendly import editor
    except ImportError as error:
        raise Refused(f"lsp needs pygls, version 1: pip install 'pygls>=1,<2' ({error})") from error
    project = _common.open_project(options)
    editor.serve(project.units, project.root, project.examiner)
    return CLEAN
