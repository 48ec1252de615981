# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_fix.py FOLDER: fixes, on bytes, each by itself and all at once."""

import json
import os
import re
import sys
import urllib.parse

from project import Project, compiles

SOURCES = ["src/crlf.c", "src/flag.c", "src/latin.c", "src/user.c", "src/utf8.cpp", "src/with space.c"]


def offset(data, line, column):
    """Of a SARIF position, whose columns are UTF-16."""
    rows = data.split(b"\n")
    try:
        row = rows[line - 1].decode()
        codec = "utf-8"
    except UnicodeDecodeError:
        row, codec = rows[line - 1].decode("latin-1"), "latin-1"
    before = row.encode("utf-16-le")[:2 * (column - 1)].decode("utf-16-le").encode(codec)
    return sum(len(r) + 1 for r in rows[:line - 1]) + len(before)


def apply(root, fixes):
    """Does what SARIF says, by itself."""
    edits = {}
    for fix in fixes:
        for change in fix["artifactChanges"]:
            path = root / urllib.parse.unquote(change["artifactLocation"]["uri"])
            for one in change["replacements"]:
                region, data = one["deletedRegion"], path.read_bytes()
                edits.setdefault(path, set()).add((
                    offset(data, region["startLine"], region["startColumn"]),
                    offset(data, region["endLine"], region["endColumn"]),
                    one.get("insertedContent", {"text": ""})["text"].encode()))
    for path, found in edits.items():
        data = path.read_bytes()
        for begin, end, text in sorted(found, reverse=True):
            data = data[:begin] + text + data[end:]
        path.write_bytes(data)


def contents(project):
    return {file: (project.root / file).read_bytes() for file in [*SOURCES, "include/flag.h"]}


def main():
    folder = sys.argv[1]
    project = Project(folder)
    results = project.sarif(status=1)["results"]
    fixes = [r["fixes"][0] for r in results]
    assert len(fixes) == 8, json.dumps(results)

    # Each alone compiles: it brings its own #include.
    for fix in fixes:
        alone = Project(folder + "-alone")
        apply(alone.root, [fix])
        for file in SOURCES:
            assert compiles(alone.root, file) is True, (fix, compiles(alone.root, file))

    # All at once: the same as --fix, which leaves nothing to find.
    other = Project(folder + "-other")
    apply(other.root, fixes)
    project.run("scan", "--fix", status=0)
    assert "8 fixes applied in 6 files" in project.errors, project.errors
    # What the build lacks is said once, and is where it is said to be.
    (said,) = [line for line in project.errors.splitlines() if "the fixes use" in line]
    assert "vfriendly/spin_wait.h" in said and "-lvfrt" in said, said
    include, library = (re.search(rf" {flag}([^ ,]+)", said)[1] for flag in ("-I", "-L"))
    assert os.path.exists(f"{include}/vfriendly/spin_wait.h") and os.path.exists(f"{library}/libvfrt.a"), said
    assert contents(project) == contents(other)
    for file in SOURCES:
        assert compiles(project.root, file) is True, file
    assert b"\xe9\xe8" in (project.root / "src/latin.c").read_bytes()
    lines = (project.root / "src/crlf.c").read_bytes().splitlines(keepends=True)
    assert all(line.endswith(b"\r\n") for line in lines), lines
    assert project.run("scan", status=0).startswith("0 findings")
    project.run("scan", "--fix", status=0)
    assert "the fixes use" not in project.errors, project.errors

    # A file that cannot be written: nothing is changed, and it is said.
    project = Project(folder)
    before = contents(project)
    project.run("scan")
    project.root.joinpath("src/crlf.c").chmod(0o444)
    if os.geteuid():  # root may write anything
        project.run("scan", "--fix", status=1)
        assert "cannot be written" in project.errors
        assert contents(project) == before


main()
