# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_review.py FOLDER [--record]: what a change brings, in each format as recorded."""

import difflib
import sys

from project import HERE, Project

FORMATS = ("text", "sarif", "github", "github-review", "gitlab", "rdjson", "gerrit")


def change(project):
    """Edits a loop's body, a macro that makes a loop elsewhere wait, moves a line, adds files."""
    project.edit("src/with space.c", "while (!done) {\n  }", "while (!done) {\n    ;\n  }")
    project.edit("include/flag.h", "#define STOP 1", "#define STOP ready")
    project.edit("src/flag.c", "// Two loops", "// A line more.\n// Two loops")
    project.git("mv", "src/crlf.c", "src/windows.c")
    (project.root / "src/new.c").write_text("extern volatile int up;\nvoid wait_up(void) {\n  while (!up)\n    ;\n}\n")
    names = {"src/crlf.c": "src/windows.c"}
    project.entries = [project.entry(names.get(e["file"], e["file"])) for e in project.entries]
    project.entries.append(project.entry("src/new.c"))
    project.write()


def places(text):
    return sorted(":".join(line.split(":")[:2]) for line in text.splitlines() if " warning: " in line)


def main():
    folder = sys.argv[1]
    project = Project(folder, git=True)
    project.edit("include/flag.h", "static", "#define STOP 1\n\nstatic")
    project.edit("src/user.c", "  wait_ready();", "  wait_ready();\n  while (!(STOP))\n    ;")
    project.commit()
    assert project.run("review", "--diff", "main", status=0).startswith("0 findings")
    change(project)
    wanted = ["src/new.c:3", "src/user.c:6", "src/with space.c:4"]
    for words in ([], ["--no-cache"]):
        # Once with the list of files read of the units' last examination, once by clang-scan-deps.
        out = project.run("review", "--diff", "main", *words, status=1)
        assert places(out) == wanted, out
        assert ", " in out.splitlines()[-1] and " 7 units" not in out, out
    # The same after a commit, from a branch.
    project.git("checkout", "-q", "-b", "topic")
    project.commit()
    assert places(project.run("review", "--diff", "main", status=1)) == wanted

    wrong = 0
    for name in FORMATS:
        got = project.run("review", "--diff", "main", "--format", name, status=1)
        got = got.replace(str(project.root), "ROOT")
        recorded = HERE / "expected" / f"review.{name}"
        if "--record" in sys.argv:
            recorded.write_text(got)
        if got != recorded.read_text():
            wrong += 1
            print("".join(difflib.unified_diff(recorded.read_text().splitlines(1), got.splitlines(1),
                                               str(recorded), name)))

    # A removed header: its readers are examined, and named as broken.
    (project.root / "include/flag.h").unlink()
    out = project.run("review", "--diff", "main", status=3)
    assert "'flag.h' file not found" in out, out

    # What git refuses.
    project.run("review", "--diff", "no-such-branch", status=2)
    assert "no-such-branch" in project.errors and project.errors.count("\n") == 1, project.errors
    plain = Project(folder + "-plain")
    plain.run("review", "--diff", "main", status=2)
    assert "not a git repository" in plain.errors, plain.errors
    return wrong


sys.exit(main())
