# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the command-line tool share: a small project, and runs of the tool."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["VF_BUILD"])
TOOL = str(BUILD / "bin" / "vfriendly")
sys.path.insert(0, str(HERE.parents[2] / "checkers" / "cli"))
RUNTIME = HERE.parents[2] / "runtime" / "include"
# Links to pages are the same whatever the machine.
ENVIRONMENT = {**os.environ, "VFRIENDLY_GUIDELINES": "https://example.org"}


class Project:
    def __init__(self, folder, git=False):
        self.root = Path(folder).resolve()
        self.cache = Path(f"{self.root}.cache")
        # The folder is no part of the work tree that the tests are in.
        self.environment = {**ENVIRONMENT, "GIT_CEILING_DIRECTORIES": str(self.root.parent),
                            "XDG_CACHE_HOME": str(self.cache)}
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.rmtree(self.cache, ignore_errors=True)
        shutil.copytree(HERE / "project", self.root)
        self.entries = [self.entry(f"src/{p.name}") for p in sorted((self.root / "src").iterdir())]
        self.write()
        if git:
            self.git("init", "-q", "-b", "main")
            (self.root / ".gitignore").write_text("compile_commands.json\n")
            self.commit()

    def entry(self, file, *flags):
        compiler = "clang++" if file.endswith("pp") else "clang"
        return {"directory": str(self.root), "file": file,
                "arguments": [compiler, "-Iinclude", f"-I{RUNTIME}", "-Wall", "-Werror", *flags, "-c", file, "-o", "x.o"]}

    def write(self):
        (self.root / "compile_commands.json").write_text(json.dumps(self.entries))

    def git(self, *words):
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", *who, *words], cwd=self.root, check=True,
                              capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def edit(self, file, before, after):
        path = self.root / file
        data = path.read_bytes()
        assert before.encode() in data, (file, before)
        path.write_bytes(data.replace(before.encode(), after.encode(), 1))

    def run(self, *words, status=None, tool=TOOL):
        done = subprocess.run([tool, *words, "-q"], cwd=self.root, env=self.environment,
                              capture_output=True, check=False)
        out = done.stdout.decode("utf-8", "replace")
        err = done.stderr.decode("utf-8", "replace")
        assert status is None or done.returncode == status, (words, done.returncode, out, err)
        self.status, self.errors = done.returncode, err
        return out

    def results(self):
        """The files of the cache: one a unit, and one more."""
        return sorted(self.cache.glob("vfriendly/*/*/*.json"))

    def sarif(self, *words, status=None):
        return json.loads(self.run("scan", "--format", "sarif", *words, status=status))["runs"][0]


def compiles(root, file):
    """Whether a source of the project compiles, with the runtime's headers."""
    compiler = "clang++" if file.endswith("pp") else "clang"
    done = subprocess.run([compiler, "-Iinclude", f"-I{RUNTIME}", "-Wall", "-Werror", "-fsyntax-only", file],
                          cwd=root, capture_output=True, text=True, check=False)
    return done.returncode == 0 or done.stderr
