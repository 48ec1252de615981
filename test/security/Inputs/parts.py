# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What checks of the tool share. Each is called with a folder and the name of one of its functions, a part."""

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "vfriendly-cli" / "Inputs"))

WAIT = "#include <stdatomic.h>\n_Atomic int f;\nint g(void) {\n  while (!atomic_load(&f))\n    ;\n  return 0;\n}\n"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def read(path):
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def run(parts):
    """Calls the part with its folder, new and empty."""
    folder, part = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).mkdir(parents=True)
    parts[part](folder)
