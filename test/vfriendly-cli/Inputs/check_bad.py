# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_bad.py FOLDER: each bad input has its message and exit status, and the rest is complete."""

import json
import os
import subprocess
import sys
import textwrap

from project import Project

FINDINGS = 8


def wrapper(project, body):
    """A clang-tidy that does something else for crlf.c."""
    path = project.root / "clang-tidy"
    path.write_text("#!/bin/sh\n" + textwrap.dedent(f"""\
        case "$*" in
        *src/crlf.c) {body} ;;
        esac
        exec clang-tidy "$@"
        """))
    path.chmod(0o755)
    return ["--clang-tidy", str(path)]


def refused(project, text, *words):
    out = project.run(*words, status=2)
    assert not out and text in project.errors and project.errors.count("\n") == 1, project.errors


def unusable(folder):
    project = Project(folder)
    refused(project, "no such folder", "scan", "-p", "nowhere")
    refused(project, "CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "scan", "-p", "src")
    refused(project, "no such program", "scan", "--clang-tidy", "/no/clang-tidy")
    refused(project, "no such file", "scan", "--module", "/no/module.so")
    refused(project, "cannot load", "scan", "--module", "src/user.c")
    refused(project, "no check matches", "scan", "--checks", "no-such-check")
    refused(project, "no such folder", "scan", "-o", "no/where")
    refused(project, "is not SARIF of vfriendly", "scan", "--baseline", "compile_commands.json")
    (project.root / "odd.sarif").write_text('{"runs": [3]}')
    refused(project, "is not SARIF of vfriendly", "scan", "--baseline", "odd.sarif")
    refused(project, "must be positive", "scan", "-j", "-1")
    refused(project, "no such file or folder", "scan", "src/missing.c")
    (project.root / "texts").mkdir()
    refused(project, "no source or header in this folder", "scan", "texts")
    (project.root / "texts" / "notes").write_text("none\n")
    project.run("scan", "--quiet", "texts/notes")
    assert "reads texts/notes: nothing was examined" in project.errors
    # A folder stands for what is in it and below.
    below, everywhere = (project.run("scan", "--quiet", *word, status=1).splitlines() for word in (["."], []))
    assert below[:-1] == everywhere[:-1] and len(below) > FINDINGS  # The last line counts units.
    database = project.root / "compile_commands.json"
    for text, told in (("{", "cannot be read"), ("[" * 100000, "cannot be read"), ("[]", "has no entries"),
                       ("[3]", "entry 1"),
                       ('[{"directory": "/", "file": "x.c", "command": "cc \'"}]', "cannot be split"),
                       ('[{"directory": "/", "file": "x.s", "command": "as x.s"}]', "no entry for C")):
        database.write_text(text)
        refused(project, told, "scan")
    refused(project, "unrecognized arguments: --no-such-option; see vfriendly --help", "scan", "--no-such-option")
    refused(project, "'./prog' is no option; a command follows --, as in vfriendly try -- ./prog; see vfriendly --help",
            "try", "./prog", "-x")
    refused(project, "invalid choice: 'scam'", "scam")
    # A module of nobody's that has none of the checks.
    project = Project(folder)
    other = project.root / "empty.so"
    (project.root / "empty.c").write_text("int x;\n")
    assert os.system(f"clang -shared -fPIC -o {other} {project.root}/empty.c") == 0
    refused(project, "has no vfriendly checks", "scan", "--module", str(other))


def incomplete(project, word, findings, *words):
    """One unit is named as not examined, and the rest is complete."""
    run = project.sarif(*words, status=3)
    told = [n["message"]["text"] for i in run["invocations"] for n in i["toolExecutionNotifications"]]
    assert len(told) == 1 and word in told[0], told
    assert len(run["results"]) == findings, (word, len(run["results"]))
    assert not run["invocations"][0]["executionSuccessful"]


def units(folder):
    project = Project(folder)
    incomplete(project, "SIGSEGV", FINDINGS - 1, *wrapper(project, "kill -SEGV $$"))
    incomplete(project, "no end after 5 s", FINDINGS - 1, *wrapper(project, "exec sleep 100"), "--timeout", "5")
    incomplete(project, "clang-tidy failed", FINDINGS - 1, *wrapper(project, "echo 'error: no' >&2; exit 1"))
    (project.root / "src/crlf.c").unlink()
    incomplete(project, "does not exist", FINDINGS - 1)
    (project.root / "src/crlf.c").mkdir()
    incomplete(project, "cannot be read", FINDINGS - 1)
    (project.root / "src/crlf.c").rmdir()
    with open(project.root / "src/crlf.c", "wb") as file:
        file.truncate(65 << 20)
    incomplete(project, "65 MiB", FINDINGS - 1)

    # Errors: its findings stay, and one says that waits were judged by their text alone.
    project = Project(folder)
    project.edit("src/crlf.c", "volatile", "int x = y;\r\nvolatile")
    incomplete(project, "does not compile: " + str(project.root / "src/crlf.c") + ":2:", FINDINGS + 1)

    # A link to nothing has its own name, and a path is absolute below the root of the file system.
    (project.root / "src/crlf.c").unlink()
    (project.root / "src/crlf.c").symlink_to("/nonexistent")
    assert "\nsrc/crlf.c: not examined: the file does not exist\n" in project.run("scan", status=3)
    assert f"\n{project.root}/src/crlf.c: not examined" in project.run("scan", "--root", "/", status=3)

    # A bad entry of the database is named.
    project = Project(folder)
    project.entries[1:1] = [{"directory": "/", "file": "x.c", "command": "cc '"}]
    project.write()
    incomplete(project, "entry 2: its command cannot be split", FINDINGS)
    out = project.run("scan", status=3)
    assert "\ncompile_commands.json: not examined: entry 2: its command" in out, out

    # A folder that is gone.
    project = Project(folder)
    project.entries[0]["directory"] = str(project.root / "gone")
    project.entries[0]["file"] = str(project.root / "src/crlf.c")
    project.write()
    incomplete(project, "gone does not exist", FINDINGS - 1)

    project = Project(folder)
    project.run("scan", "--jobs=--", status=2)
    assert "--jobs=--: -- is no value" in project.errors, project.errors

    # A project's own -Werror, flags of GCC, other languages.
    project = Project(folder)
    for entry in project.entries:
        entry["arguments"][1:1] = ["-Werror=unused-variable", "-fconserve-stack", "-mno-such-thing", "-pedantic-errors"]
    project.entries.append({"directory": str(project.root), "file": "start.s", "command": "as start.s"})
    project.write()
    project.edit("src/crlf.c", "while", "int unused; while")
    out = project.run("scan", status=1)
    assert "flags that clang does not know dropped: -mno-such-thing," in out, out
    assert out.rstrip().endswith("left out: -fconserve-stack"), out
    assert "1 of other languages left out" in out and f"\n{FINDINGS} findings" in out, out


def modules(_):
    """A Python module that is missing has the name of the package to install."""
    tool = os.path.join(os.environ["VF_BUILD"], "bin", "vfriendly")
    run = subprocess.run([sys.executable, "-c", "import runpy, sys; sys.modules['yaml'] = None; sys.argv = ['vfriendly', '--help']; "
                          f"runpy.run_path({tool!r}, run_name='__main__')"], capture_output=True, text=True)
    assert run.returncode == 2 and run.stderr.count("\n") == 1 and "apt-get install python3-yaml" in run.stderr, run


def levels(folder):
    project = Project(folder)
    project.run("scan", "--fail-on", "error", status=0)
    project.run("scan", "--fail-on", "never", status=0)
    project.run("scan", "--fail-on", "warning", status=1)
    project.run("scan", "--format", "sarif", "-o", "known.sarif", status=1)
    assert project.run("scan", "--baseline", "known.sarif", status=0).startswith("0 findings")
    # Fingerprints survive moved lines and indentation; twins differ.
    known = [r["partialFingerprints"] for r in json.loads((project.root / "known.sarif").read_text())
             ["runs"][0]["results"]]
    assert len({json.dumps(k) for k in known}) == FINDINGS
    path = project.root / "src/flag.c"
    path.write_text("// One line more.\n" + path.read_text().replace("  while", "\twhile"))
    assert project.run("scan", "--baseline", "known.sarif", status=0).startswith("0 findings")
    # A third twin after the others is new.
    path.write_text(path.read_text().replace("void other", "void more(void) {\n\twhile (!go)\n    ;\n}\n\nvoid other"))
    assert "\n1 finding, " in project.run("scan", "--baseline", "known.sarif", status=1)


def main():
    folder = sys.argv[1]
    for part in (unusable, units, modules, levels):
        part(f"{folder}-{part.__name__}")


main()
