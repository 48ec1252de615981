# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What text.py writes, with colours and the lines of the sources: for standard output if that is a terminal."""

import io
import sys

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from vfriendly import escaping, formats
from vfriendly.findings import Finding
from vfriendly.formats import text
from vfriendly.scanning import Result
from vfriendly.sources import decode

STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
# Lines of the source before and after that of a finding.
AROUND = 1


def excerpt(finding: Finding, result: Result) -> Syntax:
    source = result.sources[finding.path]
    first, last = max(1, finding.line - AROUND), min(len(source.starts), finding.line + AROUND)
    lines = (decode(source.line(number)).expandtabs(4).rstrip() for number in range(first, last + 1))
    code = "\n".join(map(escaping.terminal, lines))
    # The colours are those of the terminal, so that they suit its background.
    return Syntax(code, "cpp", theme="ansi_dark", background_color="default", line_numbers=True, start_line=first,
                  highlight_lines={finding.line})


def heading(line: str, finding: Finding) -> Text:
    """The first line of a finding: place, level, message."""
    level = formats.level(finding)
    place, _, message = line.partition(f": {level}: ")
    return Text.assemble((place, "bold"), ": ", (level, STYLES[level]), ": ", message)


def write(result: Result) -> str:
    # A buffer is no terminal: it gets the one's colours, except where NO_COLOR says otherwise.
    width = Console(file=sys.stdout).width
    console = Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False, soft_wrap=True)
    for finding in result.findings:
        line, *others = (escaping.terminal(row) for row in text.finding_lines(finding, result))
        console.print(heading(line, finding))
        console.print(excerpt(finding, result))
        for other in others:
            console.print(Text(other, style="dim"))
        console.print()
    for row in text.other_lines(result):
        console.print(Text(escaping.terminal(row)))
    written = console.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()
