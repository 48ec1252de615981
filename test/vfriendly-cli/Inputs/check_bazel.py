# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_bazel.py FOLDER: reports by Bazel's aspect; only an edited source is examined again."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from project import BUILD, HERE

INTEGRATIONS = HERE.parents[2] / "checkers" / "cli" / "integrations"
SPIN = "#ifdef SPIN\nvoid wait(volatile int *word) {\n  while (!*word) {\n  }\n}\n#endif\n"
FILES = {
    "WORKSPACE": 'local_repository(name = "rules_cc", path = "rules_cc")\n'
                 'local_repository(name = "rules_java", path = "/usr/share/bazel/rules/java")\n',
    # Of the rules that Bazel's own packages load from there, those it has built in.
    "rules_cc/WORKSPACE": "",
    "rules_cc/cc/BUILD": 'toolchain_type(name = "toolchain_type")\n',
    "rules_cc/cc/defs.bzl": "".join(f"{rule} = native.{rule}\n" for rule in (
        "cc_binary", "cc_library", "cc_toolchain", "cc_toolchain_suite")),
    "tools/BUILD": "",
    "app/BUILD": 'cc_library(name = "library", srcs = ["plain.c"], hdrs = ["inc/spin.h"], includes = ["inc"],\n'
                 '           local_defines = ["ONLY_HERE"])\n'
                 'cc_binary(name = "program", srcs = ["main.cpp"], deps = [":library"], copts = ["-DSPIN"])\n'
                 'genrule(name = "text", outs = ["text.txt"], cmd = "touch $@")\n',
    "app/inc/spin.h": SPIN,
    "app/plain.c": '#include "spin.h"\n#ifndef ONLY_HERE\n#error a define is missing\n#endif\nint plain;\n',
    "app/main.cpp": "#include <spin.h>\nint main() { return 0; }\n",
}


class Workspace:
    def __init__(self, folder):
        self.root = Path(folder).resolve()
        if self.root.exists():
            subprocess.run(["chmod", "-R", "u+w", self.root], check=True)  # Bazel's outputs are read-only
            shutil.rmtree(self.root)
        for name, text in FILES.items():
            path = self.root / "workspace" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.sources = self.root / "workspace"
        shutil.copy(INTEGRATIONS / "bazel" / "vfriendly.bzl", self.sources / "tools")

    def bazel(self, command, *words):
        environment = {**os.environ, "PATH": f"{BUILD}/bin:{os.environ['PATH']}"}
        return subprocess.run(["bazel", f"--output_user_root={self.root}/output", "--max_idle_secs=60", command, *words],
                              cwd=self.sources, env=environment, capture_output=True, text=True, check=False)

    def build(self, *words, status=0, path="--action_env=PATH"):
        done = self.bazel("build", "//app/...", "--aspects", "//tools:vfriendly.bzl%vfriendly_aspect",
                          "--output_groups=vfriendly", "--noshow_progress", path, *words)
        assert done.returncode == status, done
        return done.stderr

    def report(self, target, source):
        return (self.sources / "bazel-bin/app" / f"{target}.vfriendly" / f"app/{source}.txt").read_text()


def check(workspace):
    workspace.build()
    assert workspace.report("library", "plain.c").startswith("0 findings"), workspace.report("library", "plain.c")
    found = workspace.report("program", "main.cpp")
    # Relative to the workspace, not to the sandbox; the macro is that of copts.
    assert found.startswith("app/inc/spin.h:3:3: warning: loop spins on volatile '*word'"), found

    # After an edit of a source it alone is examined; after one of the header both are.
    for file, examined in (("plain.c", 1), ("inc/spin.h", 2)):
        with open(workspace.sources / "app" / file, "a") as text:
            text.write("// edited\n")
        told = workspace.build("--subcommands")
        assert told.count("vfriendly scan") == examined, (file, told)
    assert workspace.build("--subcommands").count("vfriendly scan") == 0

    # As a gate, and in another format.
    told = workspace.build("--action_env=VFRIENDLY_FAIL_ON=warning", "--keep_going", status=1)
    assert "app/inc/spin.h:3:3: warning: loop spins" in told, told
    workspace.build("--action_env=VFRIENDLY_FORMAT=sarif")
    assert workspace.report("program", "main.cpp").startswith("{"), workspace.report("program", "main.cpp")
    told = workspace.build(path="--action_env=PATH=/usr/bin:/bin", status=1)
    assert "vfriendly is not on PATH: add --action_env=PATH" in told, told


def main():
    workspace = Workspace(sys.argv[1])
    try:
        check(workspace)
    finally:
        workspace.bazel("shutdown")


main()
