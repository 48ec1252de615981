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


# Modes of git for what is no file: the text of a link is a path, and that of a submodule a commit.
LINK, SUBMODULE = "120000", "160000"
EVERYTHING = [(1, 1 << 30)]


@dataclass
class Change:
    base: str  # a commit
    changed: dict[str, Lines] = field(default_factory=dict)  # by path: lines added, or beside a deletion
    hunks: dict[str, Lines] = field(default_factory=dict)  # by path: lines that the diff shows
    before: dict[str, str] = field(default_factory=dict)  # by path: the path it had, if it existed
    gone: set[str] = field(default_factory=set)  # deleted paths
    added: set[str] = field(default_factory=set)  # paths at which there was nothing
    # Links and submodules that are others than before: which files units read through them is not known.
    elsewhere: set[str] = field(default_factory=set)

    def is_elsewhere(self, path: str) -> bool:
        return any(path == each or path.startswith(each + "/") for each in self.elsewhere)


@dataclass(frozen=True)
class _Row:
    """A file of a diff."""

    letter: str
    old: str
    new: str
    is_file: bool  # before and after


def _rows(raw: bytes) -> list[_Row]:
    """Parses the output of git diff --raw -z. Names may be any bytes."""
    words, found = iter(raw.split(b"\0")), list[_Row]()
    for head in words:
        if head:
            old_mode, new_mode, _, _, letter = head.decode("ascii").lstrip(":").split(" ")
            old = os.fsdecode(next(words))
            new = os.fsdecode(next(words)) if letter[0] in "RC" else old
            found.append(_Row(letter[0], old, new, not {old_mode, new_mode} & {LINK, SUBMODULE}))
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
    top = git.top_of(root)
    try:
        commit = decode(git.run(top, "merge-base", "--", base, "HEAD")).strip()
    except Refused as error:
        raise Refused(f"--diff {base}: {error}; name a commit that HEAD has a common ancestor with "
                      "(in CI, fetch enough history: fetch-depth 0)") from error
    # What .gitattributes and .gitmodules say must hide nothing: which files have no lines, or are not compared.
    options = ["--no-color", "--no-ext-diff", "--no-textconv", "--find-renames", "--no-relative", "--text",
               "--ignore-submodules=dirty", "--submodule=short", "-O/dev/null"]
    rows = _rows(git.run(top, "diff", *options, "--raw", "-z", commit, "--"))
    text = decode(git.run(top, "diff", *options, f"-U{CONTEXT}", commit, "--"))
    # No line within a section begins with "diff --git": each has a sign (+, - or a blank) in front.
    sections = ("\n" + text).split("\ndiff --git ")[1:]
    # A file that has become a link, or the reverse, has two: that of the removal and that of the addition.
    if len(sections) != len(rows) + sum(row.letter == "T" for row in rows):
        raise Refused(f"--diff {base}: the work tree changed while git compared it: run it again")
    change, rest = Change(commit), iter(sections)
    for row in rows:
        path, section = os.path.join(top, row.new), next(rest)
        if row.letter == "T":
            next(rest)
        if row.letter == "D" or row.old != row.new:
            change.gone.add(os.path.join(top, row.old))
        if not row.is_file:
            # The target before is that of files which are not changed.
            change.elsewhere |= {path, os.path.realpath(path)}
            continue
        if row.letter == "D":
            continue
        change.changed[path], change.hunks[path] = _lines(section, base)
        if row.letter in "ARC":
            change.added.add(path)
        if row.letter != "A":
            change.before[path] = row.old
    for name in git.run(top, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0"):
        path = os.path.join(top, os.fsdecode(name).rstrip("/"))
        if name.endswith(b"/") or (name and os.path.islink(path)):
            change.elsewhere |= {path, os.path.realpath(path)}  # a repository in it, or a link
        elif name:
            change.added.add(path)
            change.changed[path] = change.hunks[path] = EVERYTHING
    return change


def content(root: str, change: Change, path: str) -> bytes:
    """Returns the old content of a changed file."""
    return git.run(root, "cat-file", "blob", f"{change.base}:{change.before[path]}")


def overlaps(lines: Lines, first: int, last: int) -> bool:
    return any(a <= last and b >= first for a, b in lines)
