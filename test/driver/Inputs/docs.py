# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""docs.py SOURCE SCRATCH PAGE...: runs the commands of pages as they stand.

Every block of shell commands runs, in the order of the page, in one shell: those of examples
and the first of README.md in the project's root, where it sets VF, all others in a folder with
the files of examples/first. A block after `<!-- not run: REASON -->` is left out. A block that fails is named.
A block on any other page of the project must have that mark.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

BLOCK = re.compile(r"(?m)(?:^<!-- not run: (?P<why>.+) -->\n)?^```(?P<language>\w+)\n(?P<text>(?:.*\n)*?)^```$")


def blocks(source, page):
    """Yields (where, text) of each block of PAGE that is to run."""
    with open(os.path.join(source, page)) as file:
        text = file.read()
    for match in BLOCK.finditer(text):
        where = f"{page}:{text.count(chr(10), 0, match.start('text')) + 1}"
        if match["why"]:
            print(f"{where}: not run: {match['why']}")
        elif match["language"] == "sh":
            yield where, match["text"]


def unmarked(source, pages):
    """Returns the place of each block that is neither on one of PAGES nor marked."""
    found = ["README.md", *glob.glob("guidelines/**/*.md", root_dir=source, recursive=True),
             *glob.glob("examples/**/README.md", root_dir=source, recursive=True)]
    return [where for page in sorted(set(found) - set(pages)) for where, _ in blocks(source, page)]


def run(script, source, environment):
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=source, env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)  # lit ends what hangs


def main():
    source, scratch, *pages = sys.argv[1:]
    if forgotten := unmarked(source, pages):
        sys.exit(f"no test runs the commands of {', '.join(forgotten)}: add the page to docs.test or the mark 'not run: REASON'")
    shutil.rmtree(scratch, ignore_errors=True)
    first = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "first")
    shutil.copytree(first, scratch, ignore=shutil.ignore_patterns("build", "prog", "locks"))
    todo = [block for page in pages for block in blocks(source, page)]
    # Each block says where it is, so that the last line names the one that failed.
    script = ""
    for number, (where, text) in enumerate(todo):
        in_root = number == 0 or where.startswith("examples/")
        script += f"echo 'docs: {where}'\ncd '{source if in_root else scratch}'\n{text}"
    # The pages name the tools as a user's shell finds them, with their version.
    result = run(script, source, {**os.environ, "PATH": "/usr/local/bin:/usr/bin:/bin", "CC": "clang-22"})
    print(result.stdout + result.stderr)
    if result.returncode:
        failed = re.findall(r"(?m)^docs: (.*)$", result.stdout)[-1:]
        sys.exit(f"a command of {''.join(failed)} fails with {result.returncode}")
    print(f"{len(todo)} blocks of commands ran")


if __name__ == "__main__":
    main()
