# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs.py SOURCE SCRATCH PAGE...: runs the commands of pages as they stand.

Every block of shell commands runs, in the order of the page, in one shell: those of examples
and the first of README.md in the project's root, where it sets VF, all others in a folder with
the files of examples/first. What is left out says why: test/rigs/docs/blocks.py. A block that fails is named.
A block on any other page of the project must be left out. Without a PAGE, only the marks of all pages are checked.
"""

import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "..", "rigs", "docs"))
from blocks import Unfounded, blocks, pages


def to_run(source, page):
    """Returns the blocks of PAGE that run here."""
    found = blocks(source, page)
    for block in found:
        if why := block.left_out("here"):
            print(f"{block.where}: not run: {why}")
    return [block for block in found if not block.left_out("here")]


def run(script, source, environment):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=source, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)  # lit ends what hangs


def main():
    source, scratch, *chosen = sys.argv[1:]
    try:
        found = {page: to_run(source, page) for page in sorted({*pages(source), *chosen})}
    except Unfounded as error:
        sys.exit(str(error))
    if not chosen:
        print(f"{len(found)} pages, {sum(map(len, found.values()))} blocks to run")
        return
    if forgotten := [block.where for page in found if page not in chosen for block in found[page]]:
        sys.exit(f"no test runs the commands of {', '.join(forgotten)}: add the page to docs.test or the mark 'not run: REASON'")
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(os.path.join(HERE, "..", "..", "..", "examples", "first"), scratch, ignore=shutil.ignore_patterns("build", "prog", "locks"))
    todo = [block for page in chosen for block in found[page]]
    # Each block says where it is, so that the last line names the one that failed.
    script = ""
    for number, block in enumerate(todo):
        in_root = number == 0 or block.page.startswith("examples/")
        script += f"echo 'docs: {block.where}'\ncd '{source if in_root else scratch}'\n{block.text}"
    # The pages name the tools as a user's shell finds them, with their version.
    result = run(script, source, {**os.environ, "PATH": "/usr/local/bin:/usr/bin:/bin", "CC": "clang-22"})
    print(result.stdout + result.stderr)
    if result.returncode:
        failed = re.findall(r"(?m)^docs: (.*)$", result.stdout)[-1:]
        sys.exit(f"a command of {''.join(failed)} fails with {result.returncode}")
    print(f"{len(todo)} blocks of commands ran")


if __name__ == "__main__":
    main()
