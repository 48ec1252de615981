# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads from git which lines a change edits."""

import os
from dataclasses import dataclass, field
from io import StringIO

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from vfriendly import git
from vfriendly.errors import Refused
from vfriendly.sources import decode

# GitHub and GitLab accept comments on changed lines and on three lines before and after them.
CONTEXT = 3
Lines = list[tuple[int, int]]


@dataclass
class Change:
    base: str  # a commit
    changed: dict[str, Lines] = field(default_factory=dict)  # by path: lines added, or beside a deletion
    hunks: dict[str, Lines] = field(default_factory=dict)  # by path: lines that the diff shows
    before: dict[str, str] = field(default_factory=dict)  # by path: the path it had, if it existed
    gone: set[str] = field(default_factory=set)  # deleted paths


def _names(status: str) -> list[tuple[str, str, str]]:
    """Parses the output of git diff --name-status -z: letter, old path and new path of each file."""
    words, found = iter(status.split("\0")), list[tuple[str, str, str]]()
    for letter in words:
        if letter:
            old = next(words)
            found.append((letter[0], old, next(words) if letter[0] in "RC" else old))
    return found


def _lines(section: str, base: str) -> tuple[Lines, Lines]:
    """Returns the changed lines and the shown lines of one file's section of a diff."""
    start = section.find("\n@@ ")
    if start < 0:
        return [], []  # a mode, a pure rename, a binary file
    try:
        # The names of files come from git, because unidiff misreads those with spaces. Only \n ends
        # a line: a file may contain any other separator.
        patch = PatchSet(StringIO("--- a\n+++ b" + section[start:], newline="\n"))
    except UnidiffParseError as error:
        raise Refused(f"--diff {base}: its diff cannot be read: {error}") from error
    lines, shown = set[int](), Lines()
    for hunk in patch[0]:
        if hunk.target_length:
            shown.append((hunk.target_start, hunk.target_start + hunk.target_length - 1))
        at = hunk.target_start
        for line in hunk:
            if line.is_removed:
                # The diff has deleted the lines between the lines at - 1 and at of the new file.
                lines.update((at - 1, at))
            elif line.is_added:
                lines.add(at)
            if line.is_added or line.is_context:
                at += 1
    return [(n, n) for n in sorted(lines) if n > 0], shown


def read(root: str, base: str) -> Change:
    """Reads the changes of the work tree under root since base, uncommitted ones included."""
    top = os.path.realpath(decode(git.run(root, "rev-parse", "--show-toplevel")).rstrip("\n"))
    try:
        commit = decode(git.run(top, "merge-base", "--", base, "HEAD")).strip()
    except Refused as error:
        raise Refused(f"--diff {base}: {error}; name a commit that HEAD has a common ancestor with "
                      "(in CI, fetch enough history: fetch-depth 0)") from error
    options = ["--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--no-relative"]
    names = _names(decode(git.run(top, "diff", *options, "--name-status", "-z", commit, "--")))
    text = decode(git.run(top, "diff", *options, f"-U{CONTEXT}", commit, "--"))
    # No line within a section begins with "diff --git": each has a sign (+, - or a blank) in front.
    sections = ("\n" + text).split("\ndiff --git ")[1:]
    if len(sections) != len(names):
        raise Refused(f"--diff {base}: the work tree changed while git compared it: run it again")
    change = Change(commit)
    for (letter, old, new), section in zip(names, sections, strict=True):
        path = os.path.join(top, new)
        if letter == "D" or old != new:
            change.gone.add(os.path.join(top, old))
        if letter == "D":
            continue
        change.changed[path], change.hunks[path] = _lines(section, base)
        if letter != "A":
            change.before[path] = old
    for name in decode(git.run(top, "ls-files", "--others", "--exclude-standard", "-z")).split("\0"):
        if name:
            everything = [(1, 1 << 30)]
            change.changed[os.path.join(top, name)] = everything
            change.hunks[os.path.join(top, name)] = everything
    return change


def content(root: str, change: Change, path: str) -> bytes:
    """Returns the old content of a changed file."""
    return git.run(root, "cat-file", "blob", f"{change.base}:{change.before[path]}")


def overlaps(lines: Lines, first: int, last: int) -> bool:
    return any(a <= last and b >= first for a, b in lines)
