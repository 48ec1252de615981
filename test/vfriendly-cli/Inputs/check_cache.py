# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_cache.py FOLDER: what is examined again after what change."""

import re
import sys
import time

from project import Project


def settle():
    """A file that changed within the clock's tick before a scan is not cached."""
    time.sleep(0.1)


def examined(project, *words):
    summary = project.run("scan", *words).splitlines()[-1]
    cached = re.search(r"(\d+) from the cache", summary)
    return int(re.search(r"(\d+) units", summary).group(1)) - (int(cached.group(1)) if cached else 0)


def selects(project):
    """The checks of .clang-tidy are honoured where it names some of ours, unless --checks is given."""
    def found(text, *words):
        (project.root / "src/.clang-tidy").write_text(text)
        return {r["ruleId"] for r in project.sarif("--no-cache", *words)["results"]}

    every = found("")
    assert "vfriendly-spin-loops" in every
    assert found("Checks: '-*,bugprone-*'") == every
    assert found("Checks: '-vfriendly-spin-loops'") == every - {"vfriendly-spin-loops"}
    assert found("Checks: ['-*', 'vfriendly-heap-churn*']") == {c for c in every if "heap-churn" in c}
    assert found("Checks: '-vfriendly-spin-loops'", "--checks", "vfriendly-spin-*") == {"vfriendly-spin-loops"}
    # That of a folder above counts where the nearest one inherits.
    (project.root / ".clang-tidy").write_text("Checks: '-vfriendly-spin-loops'")
    assert "vfriendly-spin-loops" not in found("InheritParentConfig: true")
    assert found("Checks: '-*,bugprone-*'") == every
    for file in (".clang-tidy", "src/.clang-tidy"):
        (project.root / file).unlink()


def main():
    project = Project(sys.argv[1])
    settle()
    assert examined(project) == 6
    assert examined(project) == 0
    assert examined(project, "--no-cache") == 6

    # Only the readers of a header; a touched file has the same bytes.
    (project.root / "include/flag.h").touch()
    settle()
    assert examined(project) == 0
    project.edit("include/flag.h", "// A header", "// A Header")
    settle()
    assert examined(project) == 2
    assert examined(project) == 0

    # A comment can be a NOLINT, which preprocessed text would not show.
    before = project.run("scan")
    project.edit("src/crlf.c", "while (!crlf) {", "while (!crlf) { // NOLINT")
    settle()
    assert examined(project) == 1
    assert project.run("scan").count(": warning: ") == before.count(": warning: ") - 1

    # Configuration and command.
    (project.root / "src/.clang-tidy").write_text(
        "CheckOptions:\n  vfriendly-spin-loops.Style: pause\n")
    assert examined(project) == 6
    (project.root / "src/.clang-tidy").unlink()
    selects(project)
    assert examined(project) == 0
    assert examined(project, "--checks", "vfriendly-heap*") == 6
    project.entries[0]["arguments"].insert(1, "-DX")
    project.write()
    assert examined(project) == 1

    # An entry cut short, as by a full disk, is none.
    for entry in project.results():
        entry.write_bytes(entry.read_bytes()[:100])
    assert examined(project) == 6


main()
