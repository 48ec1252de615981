# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_llvm.py FOLDER: which LLVM the tool uses, in an installation with modules for three that no machine has."""

import json
import os
import subprocess
import sys
from pathlib import Path

from project import TOOL

FOLDER = Path(sys.argv[1]).resolve()
BIN, LIB = FOLDER / "bin", FOLDER / "lib"
for version in (901, 902, 903):
    module = LIB / f"vfriendly/llvm-{version}/libvfriendly-tidy.so"
    module.parent.mkdir(parents=True)
    module.touch()
    (module.parent / "libvfriendly.so").touch()
(LIB / "vfriendly/llvm-902/other.so").touch()
BIN.mkdir()


def used(installed, **more):
    """Returns the LLVM, and where its module and a file of no LLVM are, with clang-tidy of these versions."""
    for old in BIN.iterdir():
        old.unlink()
    for version in installed:
        (BIN / f"clang-tidy-{version}").symlink_to("/bin/true")
    code = ("from vfriendly import tools\n"
            "print(tools.llvm(), tools.library(tools.MODULE, None, '--module'), tools.library('other.so', None, '--other'))")
    environment = {"PATH": str(BIN), "PYTHONPATH": os.pathsep.join(sys.path), "VFRIENDLY_LIB": str(LIB),
                   "VFRIENDLY_BUILT_FOR": "902", **more}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
    version, module, other = said.split()
    assert module == str(LIB / f"vfriendly/llvm-{version}/libvfriendly-tidy.so"), said
    assert other == str(LIB / "vfriendly/llvm-902/other.so"), said
    return int(version)


assert used([901, 902, 903]) == 902  # the build's own comes first
assert used([901]) == 901
assert used([901, 903]) == 903
assert used([900]) == 902  # has no module: what is missing is clang-tidy 902
assert used([]) == 902
assert used([901, 902], VFRIENDLY_LLVM="901") == 901

(FOLDER / "wait.c").touch()
(FOLDER / "compile_commands.json").write_text(json.dumps([{"directory": str(FOLDER), "file": "wait.c", "arguments": ["cc", "-c", "wait.c"]}]))
bad = subprocess.run([TOOL, "scan", "-p", str(FOLDER)], env={**os.environ, "VFRIENDLY_LLVM": "2x"}, capture_output=True, text=True, check=False)
assert bad.returncode == 2 and bad.stderr.count("\n") == 1, bad.stderr
assert bad.stderr.startswith("vfriendly: VFRIENDLY_LLVM is '2x', which is no number of an LLVM: "), bad.stderr
