# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_formats.py FOLDER [--record]: each format of a scan is as recorded."""

import difflib
import sys

from project import HERE, Project

FORMATS = ("text", "sarif", "github", "github-review", "gitlab", "rdjson", "gerrit")


def main():
    project = Project(sys.argv[1])
    # One unit does not exist: each format names it.
    project.entries.append(project.entry("src/vanished.c"))
    project.write()
    project.run("scan", status=3)
    wrong = 0
    for name in FORMATS:
        got = project.run("scan", "--format", name, status=3).replace(str(project.root), "ROOT")
        recorded = HERE / "expected" / f"scan.{name}"
        if "--record" in sys.argv:
            recorded.parent.mkdir(exist_ok=True)
            recorded.write_text(got)
        wanted = recorded.read_text()
        assert "vanished.c" in got, name
        if got != wanted:
            wrong += 1
            print("".join(difflib.unified_diff(wanted.splitlines(1), got.splitlines(1), str(recorded), name)))
    return wrong


sys.exit(main())
