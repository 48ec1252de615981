# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs_bare.py SOURCE: what ./dev docs --bare makes of blocks, without a root."""

import importlib.util
import os
import subprocess
import sys


def load(source):
    spec = importlib.util.spec_from_file_location("bare", os.path.join(source, "test/rigs/docs/run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def status(text):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", text], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode


def main():
    bare = load(sys.argv[1])
    # A server is ended and all is well; a last command that ends by itself was none, and an earlier one may fail the block.
    bare.SERVER_SECONDS = 1
    assert status(bare.in_foreground("true\nsleep \\\n  60\n")) == 0
    assert status(bare.in_foreground("true\n")) != 0 and status(bare.in_foreground("false\n")) != 0
    assert status(bare.in_foreground("false\nsleep 60\n")) != 0
    # What runs where.
    front = bare.blocks(bare.SOURCE, "README.md")
    assert len(front) > 10
    runs = {name: [b for b in front if not b.left_out("bare", name, llvm)] for name, (_, llvm) in bare.DISTRIBUTIONS.items()}
    suite = [b for b in front if "debian-security" in b.text]
    mlir = [b for b in front if "mlir" in b.text]
    assert len(suite) == 1 and len(mlir) == 2
    assert suite[0] in runs["debian-12"] and suite[0] not in runs["ubuntu-24.04"]
    assert set(mlir) <= set(runs["debian-13"]) and not set(mlir) & set(runs["ubuntu-24.04"])
    assert not any(b.text.startswith("./dev") for blocks in runs.values() for b in blocks)
    # Where LLVM 22 is not, 19 stands for it in packages, programs and folders; each block begins in its own folder.
    script = bare.script_of(runs["ubuntu-24.04"], 19)
    assert "clang-19 --config=$VF/lib/vfriendly/llvm-19/" in script and "vfriendly-tidy-19_" in script and "-22" not in script
    assert script.count("\ncd /root/vfriendly/") == len(runs["ubuntu-24.04"])
    assert status(f"bash -n <<'END_OF_SCRIPT'\n{script}END_OF_SCRIPT\n") == 0
    print("blocks for bare roots are as they should be")


main()
