# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_terminal.py FOLDER: on a terminal, findings have colours and lines of their source; elsewhere neither."""

import os
import pty
import re
import subprocess
import sys

from project import TOOL, Project

COLOUR = re.compile(r"\x1b\[[\d;]*m")


def on_terminal(project, **variables):
    ours, theirs = pty.openpty()
    done = subprocess.Popen([TOOL, "scan", "-q", "src/flag.c"], cwd=project.root, stdin=subprocess.DEVNULL, stdout=theirs,
                            stderr=subprocess.DEVNULL, env={**project.environment, "TERM": "xterm-256color", **variables})
    os.close(theirs)
    data = b""
    try:
        while block := os.read(ours, 1 << 16):
            data += block
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert done.wait() == 1
    return data.decode().replace("\r\n", "\n")


def main():
    project = Project(sys.argv[1])
    # What a source contains does not reach the terminal: here the code that clears it.
    path = project.root / "src/flag.c"
    path.write_text("volatile int flag;\nvoid f(void) {\n  while (!flag) { } // \x1b[2J\n}\n")
    plain = project.run("scan", "-q", "src/flag.c", status=1)
    assert "\x1b" not in plain and "while (!flag)" not in plain, plain
    shown = on_terminal(project)
    assert COLOUR.search(shown) and "\x1b[2J" not in shown, shown
    bare = COLOUR.sub("", shown)
    assert re.search(r"(?m)^src/flag\.c:3:\d+: warning: .*\[vfriendly-spin-loops\]", bare), bare
    # The line of the finding is marked, and those around it have their numbers.
    for line in (r"^\s*2 .*void f\(void\) \{", r"^\S\s*3 .*while \(!flag\) \{ \} // \\x1b\[2J", r"^\s*4 .*\}"):
        assert re.search("(?m)" + line, bare), (line, bare)
    assert "1 finding" in bare, bare
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        said = on_terminal(project, **variables)
        assert not re.search(r"\x1b\[(3|9)\d", said) and "while (!flag)" in said, (variables, said)


if __name__ == "__main__":
    main()
