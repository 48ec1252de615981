# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_settings.py FOLDER: defaults of a project, and where its build is."""

import os
import re
import shutil
import subprocess
import sys

from project import TOOL, Project

from vfriendly import database, settings
from vfriendly.errors import Refused

OPTIONS = {"build", "checks", "baseline", "profile", "fail_on"}


def refused(call, text):
    try:
        call()
    except Refused as error:
        assert text in str(error), error
        return
    raise AssertionError(f"not refused: {text}")


def files(root):
    """The nearest file counts, up to the root of the work tree; each mistake has a line."""
    inner = root / "src" / "deep"
    inner.mkdir(parents=True)
    assert settings.defaults(OPTIONS, inner) == {}
    file = root / settings.NAME
    file.write_text('build = "out/x"\nchecks = "vfriendly-spin-*"\nfail-on = "never"\n')
    found = settings.defaults(OPTIONS, inner)
    assert found == {"build": str(root / "out/x"), "checks": "vfriendly-spin-*", "fail_on": "never"}, found
    # A command without the option does not get it.
    assert "fail_on" not in settings.defaults({"build"}, inner)
    (root / "src" / ".git").mkdir()
    assert settings.defaults(OPTIONS, inner) == {}
    for text, told in (("clang-tidy = '/bin/sh'", "no setting 'clang-tidy'"), ("build = 1", "must be a text"),
                       ("fail-on = 'all'", "there are note, warning"), ("build = ", "settings.NAME"), ("x" * 70000, "larger than")):
        file.write_text(text)
        refused(lambda: settings.defaults(OPTIONS, root), told.replace("settings.NAME", settings.NAME))
    file.unlink()


def builds(root):
    """The build's folder is found where there is one; of several, one is to be named."""
    def there(name):
        (root / name).mkdir(parents=True)
        (root / name / database.NAME).write_text("[]")
        return root / name / database.NAME

    os.chdir(root)
    refused(lambda: database.locate("."), "there is no compile_commands.json")
    only = there("build/debug")
    assert database.locate(".").resolve() == only, database.locate(".")
    there("out")
    refused(lambda: database.locate("."), "several folders")
    assert database.locate("out").resolve() == root / "out" / database.NAME
    (root / database.NAME).write_text("[]")
    assert database.locate(".").resolve() == root / database.NAME


def main():
    project = Project(sys.argv[1])
    files(project.root)
    # What the command line says wins.
    (project.root / settings.NAME).write_text('fail-on = "never"\n')
    project.run("scan", status=0)
    project.run("scan", "--fail-on", "note", status=1)
    (project.root / settings.NAME).write_text("nonsense")
    project.run("scan", status=2)
    assert settings.NAME in project.errors and project.errors.count("\n") == 1, project.errors
    said = subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"vfriendly \d+\.\d+\.\d+(, commit [0-9a-f]{10})?; LLVM \d+; Python [\d.]+\n", said), said
    bare = project.root / "bare"
    shutil.rmtree(bare, ignore_errors=True)
    bare.mkdir()
    (bare / ".git").mkdir()
    builds(bare)


main()
