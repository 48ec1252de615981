# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""commits.py SOURCE: each commit that a page cites for its figures is in the history.

A commit of another project is written as `OWNER/NAME`, commit `HASH`, or its commit `HASH`.
"""

import glob
import os
import re
import subprocess
import sys

_COMMITS = re.compile(r"(?P<before>`[\w.-]+/[\w.-]+`, |\bits )?\bcommits?\s(?P<hashes>`[0-9a-f]{7,40}`(?:,\s`[0-9a-f]{7,40}`)*)")


def cited(text):
    """Yields the position and hash of each commit of this project."""
    for match in _COMMITS.finditer(text):
        if not match["before"]:
            for one in re.finditer(r"[0-9a-f]{7,40}", match["hashes"]):
                yield match.start("hashes") + one.start(), one[0]


def git(source, *words):
    return subprocess.run(["git", "-C", source, *words], capture_output=True, text=True)


def main():
    [source] = sys.argv[1:]
    shallow = git(source, "rev-parse", "--is-shallow-repository")
    if shallow.returncode or shallow.stdout.strip() == "true":
        print("no whole history here: not checked")
        return
    pages = ["README.md", *glob.glob("guidelines/**/*.md", root_dir=source, recursive=True),
             *glob.glob("examples/**/*.md", root_dir=source, recursive=True)]
    known, absent, count = {}, [], 0
    for page in sorted(pages):
        with open(os.path.join(source, page), encoding="utf-8") as file:
            text = file.read()
        for at, commit in cited(text):
            if commit not in known:
                known[commit] = git(source, "merge-base", "--is-ancestor", commit, "HEAD").returncode == 0
            count += 1
            if not known[commit]:
                absent.append(f"{page}:{text.count(chr(10), 0, at) + 1}: commit {commit} is not in the history")
    if absent:
        sys.exit("\n".join(absent))
    print(f"{count} citations of {len(known)} commits")


main()
