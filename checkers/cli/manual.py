# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""manual.py FOLDER: writes man/man1/vfriendly*.1 and bash-completion/completions/vfriendly, from the tool's options.

The pages are help2man's, the completion is shtab's. The date of the pages is that of the commit, so that two builds
of one make the same files.
"""

import importlib
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import shtab

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import vfriendly  # noqa: E402
from vfriendly import cli  # noqa: E402

# What the pages are made of.
SOURCES = ("manual.py", "vfriendly/cli.py", "vfriendly/tools.py", "vfriendly/__init__.py", "vfriendly/commands")


def date() -> str:
    """The time of the last change, not that of the last build."""
    known = os.environ.get("SOURCE_DATE_EPOCH")
    commit = subprocess.run(["git", "-C", str(HERE), "log", "-1", "--format=%ct", "--", *SOURCES], capture_output=True,
                            text=True, check=False)
    return known or commit.stdout.strip() or "0"


def page(words: list[str], sentence: str, to: Path) -> None:
    name = "-".join(["vfriendly", *words])
    run = f"PYTHONPATH={shlex.quote(str(HERE))} {shlex.quote(sys.executable)} -m vfriendly {shlex.join(words)}"
    with tempfile.TemporaryDirectory() as folder:
        # Under the name that the page is to have. help2man looks for the word with a capital.
        program = Path(folder, name)
        program.write_text(f"#!/bin/sh\n{run} \"$@\" | sed '1s/^usage: /Usage: /'\n")
        program.chmod(0o755)
        subprocess.run(["help2man", "--no-info", f"--version-string={vfriendly.__version__}", f"--name={sentence}",
                        "--source=vfriendly", "--manual=vfriendly", f"--output={to / name}.1", str(program)],
                       check=True, env={**os.environ, "COLUMNS": "9999", "SOURCE_DATE_EPOCH": date(),
                                        "PYTHONDONTWRITEBYTECODE": "1"})


def completion() -> str:
    text: str = shtab.complete(cli.parser_of(cli.names()), "bash")
    # shtab 1.5, which Debian 12 has, takes only the first choice of each, and then all of them for one word.
    return text.replace('_choices"\n', '_choices[@]"\n').replace(
        '$(compgen -W "${current_action_choices}"', '$(IFS=" "; compgen -W "${current_action_choices}"')


def main() -> None:
    manual, completions = Path(sys.argv[1], "man/man1"), Path(sys.argv[1], "bash-completion/completions")
    for folder in (manual, completions):
        folder.mkdir(parents=True, exist_ok=True)
    page([], (vfriendly.__doc__ or "").rstrip("."), manual)
    for name in cli.names():
        page([name], importlib.import_module(f"vfriendly.commands.{name}").SENTENCE.rstrip("."), manual)
    (completions / "vfriendly").write_text(completion(), encoding="utf-8")


main()
