#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""screen.py COMMAND-LINE WIDTH [LINES] < OUTPUT > SVG: a picture of a terminal with what a command has printed.

OUTPUT may have colours (script -qc COMMAND FILE keeps them). At most LINES of it are shown. The picture has no font of
its own, so that it loads nothing.
"""

import io
import re
import sys

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

TITLE = "vfriendly"


def main():
    command, width = sys.argv[1], int(sys.argv[2])
    most = int(sys.argv[3]) if len(sys.argv) > 3 else None
    said = sys.stdin.read().replace("\r\n", "\n").rstrip("\n").split("\n")
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
    for number, line in enumerate(said[:most]):
        text = Text.from_ansi(line)
        # The first line of an output without colours is what matters.
        if number == 0 and "\x1b" not in line:
            text.stylize("bold")
        console.print(text, overflow="fold")
    svg = console.export_svg(title=TITLE, theme=MONOKAI, unique_id="screen")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    sys.stdout.write(svg.replace("Fira Code", "ui-monospace").rstrip("\n") + "\n")


main()
