# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GitHub's workflow commands: annotations in the log and on the changed lines."""

from vfriendly import catalogue, escaping, formats
from vfriendly.fingerprint import relative
from vfriendly.scanning import Result

LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def _command(level: str, title: str, text: str, path: str, line: int = 0, column: int = 0) -> str:
    where = f",line={line},col={column}" if line else ""
    file, title = escaping.github_property(path), escaping.github_property(title)
    return f"::{level} file={file}{where},title={title}::{escaping.github_data(text)}"


def write(result: Result) -> str:
    out = []
    for f in result.findings:
        column = result.sources[f.path].position(f.offset).utf16
        text = f"{f.message}\n{catalogue.rule(f.check).url}"
        out.append(_command(LEVELS[formats.level(f)], f.check, text, relative(f.path, result.root),
                            f.line, column))
    for p in result.problems:
        text = formats.describe_problem(p.status, p.reason)
        out.append(_command("error", formats.NOT_EXAMINED, text, relative(p.path, result.root)))
    return "".join(line + "\n" for line in out)
