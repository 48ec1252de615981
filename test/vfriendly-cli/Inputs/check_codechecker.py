# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_codechecker.py FOLDER: CodeChecker lists what a scan has found."""

import json
import os
import subprocess
import sys

from project import BUILD, HERE, Project

IMPORT = HERE.parents[2] / "checkers/cli/integrations/codechecker/import.sh"


def run(project, *words, status=0):
    environment = {**project.environment, "PATH": f"{BUILD}/bin:{os.environ['PATH']}", "HOME": str(project.root)}
    done = subprocess.run(words, cwd=project.root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done
    return done.stdout


def listed(project):
    # Status 2 says that there are reports.
    reports = json.loads(run(project, "CodeChecker", "parse", "-e", "json", "reports", status=2))["reports"]
    return sorted((os.path.relpath(r["file"]["path"], project.root), r["line"], r["column"], r["checker_name"],
                   r["message"]) for r in reports)


def scanned(project):
    run(project, "vfriendly", "scan", "--format", "gitlab", "-o", "findings.json", "--fail-on", "never")
    return sorted((r["location"]["path"], r["location"]["lines"]["begin"], r["check_name"])
                  for r in json.loads((project.root / "findings.json").read_text()))


def main():
    project = Project(sys.argv[1])
    run(project, IMPORT, ".", "reports", "-q")
    rows = listed(project)
    assert [(path, line, check) for path, line, _, check, _ in rows] == scanned(project), rows
    assert len(rows) == 8 and any(path == "src/with space.c" for path, *_ in rows), rows
    assert all("(guidelines/spin-loops.md)" in message for *_, message in rows), rows

    # A unit that cannot be examined: the status tells, and the others are there.
    project.entries.append(project.entry("src/gone.c"))
    project.write()
    run(project, IMPORT, ".", "reports", "-q", status=3)
    assert listed(project) == rows
    # No database: nothing is made, and what there was stays.
    run(project, IMPORT, "nowhere", "reports", "-q", status=2)
    assert listed(project) == rows
    assert not list(project.root.glob(".vfriendly-*"))


main()
