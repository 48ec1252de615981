# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_hidden_changes.py FOLDER: changes that would run a program in a review, or bring a wait that it does not report."""

import os
import subprocess
from pathlib import Path

import parts
from project import Project

WAIT = "extern volatile int up;\nstatic inline void wait_up(void) {\n  while (!up)\n    ;\n}\n"
CALM = "static inline void wait_up(void) {}\n"


def unit(project, file, *flags):
    project.entries.append(project.entry(file, *flags))
    project.write()


def commit_base(project):
    project.commit()
    project.git("branch", "-f", "base")
    project.run("review", "--diff", "base", status=0)  # what units read is known now
    project.run("scan")


def attributes(project):
    """Files without lines, or in another encoding."""
    (project.root / "a.c").write_text(WAIT + "int a;\n")
    unit(project, "a.c")
    (project.root / ".gitattributes").write_text("*.c -diff\n*.h binary\n")
    commit_base(project)
    # The function of a finding that is known is changed.
    project.edit("a.c", "while (!up)\n    ;", "while (!up)\n    if (up == 2) break;")
    return "a.c:3"


def shadow(project):
    """A header earlier on the path than the one that was read."""
    for folder in ("first", "second"):
        (project.root / folder).mkdir()
    (project.root / "second/x.h").write_text(CALM)
    (project.root / "first/README").write_text("\n")
    (project.root / "a.c").write_text("#include <x.h>\n")
    unit(project, "a.c", "-Ifirst", "-Isecond")
    commit_base(project)
    (project.root / "first/x.h").write_text(WAIT)
    project.commit()
    return "first/x.h:3"


def asked_for(project):
    """A header for which the code asks whether it is there."""
    (project.root / "a.c").write_text('#if __has_include("x.h")\nextern volatile int up;\nvoid f(void) {\n  while (!up)\n    ;\n}\n#endif\n')
    unit(project, "a.c")
    commit_base(project)
    (project.root / "x.h").write_text("\n")
    return "a.c:4"


def link(project):
    """A header's link leads to another file that was there before."""
    (project.root / "calm.h").write_text(CALM)
    (project.root / "wait.h").write_text(WAIT)
    os.symlink("calm.h", project.root / "x.h")
    (project.root / "a.c").write_text('#include "x.h"\n')
    unit(project, "a.c")
    commit_base(project)
    (project.root / "x.h").unlink()
    os.symlink("wait.h", project.root / "x.h")
    project.commit()
    return "wait.h:3"


def link_of_folder(project):
    for name, text in (("calm", CALM), ("wait", WAIT)):
        (project.root / name).mkdir()
        (project.root / name / "x.h").write_text(text)
    os.symlink("calm", project.root / "use")
    (project.root / "a.c").write_text('#include "use/x.h"\n')
    unit(project, "a.c")
    commit_base(project)
    (project.root / "use").unlink()
    os.symlink("wait", project.root / "use")
    return "wait/x.h:3"


def link_in_place_of_file(project):
    (project.root / "wait.h").write_text(WAIT)
    (project.root / "x.h").write_text(CALM)
    (project.root / "a.c").write_text('#include "x.h"\n')
    unit(project, "a.c")
    commit_base(project)
    (project.root / "x.h").unlink()
    os.symlink("wait.h", project.root / "x.h")
    return "wait.h:3"


def submodule(project):
    """Another commit of a submodule, also if .gitmodules says that this is no change."""
    other = Project(f"{project.root}.other", git=True)
    (other.root / "x.h").write_text(CALM)
    other.commit()
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "sub")
    with open(project.root / ".gitmodules", "a", encoding="ascii") as file:
        file.write("\tignore = all\n")
    (project.root / "a.c").write_text('#include "sub/x.h"\n')
    unit(project, "a.c")
    commit_base(project)
    (other.root / "x.h").write_text(WAIT)
    other.commit()
    where = ["git", "-C", str(project.root / "sub")]
    subprocess.run([*where, "-c", "protocol.file.allow=always", "pull", "-q", "--ff-only"], check=True, capture_output=True)
    return "sub/x.h:3"


def names(project):
    """A name that is no UTF-8 beside one that is."""
    (project.root / "\u00e9.c").write_text(CALM)
    unit(project, "\u00e9.c")
    commit_base(project)
    Path(os.fsdecode(os.fsencode(str(project.root)) + b"/x\xff.h")).write_text("\n")
    (project.root / "\u00e9.c").write_text(WAIT + "void g(void) { wait_up(); }\n")
    project.git("-c", "core.quotePath=false", "add", "-A")
    return "\u00e9.c:3"


def replaced(project):
    """The base is replaced by what is to be reviewed."""
    (project.root / "a.c").write_text(CALM)
    unit(project, "a.c")
    commit_base(project)
    (project.root / "a.c").write_text(WAIT + "void g(void) { wait_up(); }\n")
    project.commit()
    project.git("replace", "base", "HEAD")
    return "a.c:3"


HIDING = [attributes, shadow, asked_for, link, link_of_folder, link_in_place_of_file, submodule, names, replaced]

# Names of drivers, and what git calls.
DRIVERS = [("filter", "x", "clean"), ("filter", "a=b", "clean"), ("filter", "a.b", "process"), ("diff", "y", "command"), ("diff", "p=q", "command"),
           ("diff", "y z=", "textconv"), ("filter", "=", "clean")]


def drivers(folder):
    """Programs of drivers with odd names, in the configuration and in files that it includes."""
    for number, (kind, name, what) in enumerate(DRIVERS):
        project = Project(f"{folder}/driver{number}", git=True)
        marker = Path(f"{folder}/ran{number}")
        program = Path(f"{folder}/program{number}")
        program.write_text(f"#!/bin/sh\necho x >> {marker}\ncat\n")
        program.chmod(0o755)
        project.git("branch", "base")
        included = Path(f"{project.root}/.git/more")
        included.write_text(f'[{kind} "{name}"]\n\t{what} = {program}\n')
        if number % 2:
            project.git("config", "include.path", "more")
        else:
            with open(project.root / ".git/config", "a", encoding="ascii") as file:
                file.write(included.read_text())
        # A pattern gives a driver by its name, which cannot have blanks there.
        (project.root / ".gitattributes").write_text(f"*.c {kind}={name.replace(' ', '?')}\n")
        project.edit("src/user.c", "// Nothing", "// Something")
        project.run("review", "--diff", "base")
        assert not marker.exists(), (kind, name, what)


def elsewhere(folder):
    """A work tree that the configuration says is another folder, which has no change."""
    project = Project(f"{folder}/project", git=True)
    project.git("branch", "base")
    clean = Project(f"{folder}/clean", git=True)
    project.edit("src/user.c", "// Nothing", "// Something")
    for where in (str(clean.root), "/", "../.."):
        project.git("config", "core.worktree", where)
        project.run("review", "--diff", "base", status=2)
        assert "core.worktree" in project.errors or "work tree" in project.errors, project.errors


def hiding(folder):
    for case in HIDING:
        project = Project(f"{folder}/{case.__name__}", git=True)
        place = case(project)
        out = project.run("review", "--diff", "base", "--format", "text")
        assert f"{place}:" in out, (case.__name__, place, out, project.errors)


parts.run(globals())
