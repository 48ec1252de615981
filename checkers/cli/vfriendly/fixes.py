# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applies each fix completely or not at all, on bytes, as clang-apply-replacements does."""

import bisect
import difflib
import os
import re
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vfriendly import cache, tools
from vfriendly.findings import INCLUDE, Edit, Finding, overlap
from vfriendly.sources import Source, Sources, decode


def with_line_ends(findings: Iterable[Finding], sources: Sources) -> None:
    """Gives the lines that a fix adds the line ends of the file."""
    for f in findings:
        if any("\n" in e.text for e in f.edits):
            f.edits = tuple(
                Edit(e.path, e.offset, e.length, e.text.replace("\r\n", "\n").replace("\n", "\r\n"))
                if sources[e.path].crlf else e for e in f.edits)


def edited(source: Source, edits: Iterable[Edit]) -> bytes:
    """Returns the source with the edits made; they must not overlap."""
    out, at = [], 0
    for e in sorted(set(edits)):
        out += [source.data[at:e.offset], e.text.encode()]
        at = e.offset + e.length
    return b"".join([*out, source.data[at:]])


def _clash(a: Edit, b: Edit) -> bool:
    # Two different #include lines may be inserted at one place in either order.
    return overlap(a, b) and not (INCLUDE.match(a.text) and INCLUDE.match(b.text))


@dataclass
class Plan:
    files: dict[str, bytes] = field(default_factory=dict)
    applied: list[Finding] = field(default_factory=list)
    left: list[tuple[Finding, str]] = field(default_factory=list)


def plan(findings: Iterable[Finding], sources: Sources, root: str) -> Plan:
    done, edits = Plan(), dict[str, list[Edit]]()
    for f in sorted(findings, key=lambda f: (f.path, f.offset, f.check)):
        if not f.edits:
            continue
        outside = next((e.path for e in f.edits
                        if os.path.relpath(e.path, root).startswith("..")), None)
        other = next((o for e in f.edits for o in edits.get(e.path, ()) if _clash(e, o)), None)
        if outside:
            done.left.append((f, f"it edits {outside}, outside of {root}"))
        elif other:
            done.left.append((f, "it overlaps another fix: apply it in a second run"))
        else:
            done.applied.append(f)
            for e in f.edits:
                edits.setdefault(e.path, []).append(e)
    done.files = {path: edited(sources[path], es) for path, es in edits.items()}
    return done


def needs(applied: Iterable[Finding]) -> str:
    """Returns what code must be built with after these fixes: folder of headers and library, or ""."""
    headers = {found[1] for f in applied for e in f.edits
               if (found := re.search(r'#\s*include\s*[<"](vfriendly/[^">]+)[">]', e.text))}
    if not headers:
        return ""
    folder = tools.headers()
    where = f"with -I{folder}" if folder else "with the headers of libvfrt-dev"
    return (f"{', '.join(sorted(headers))}: compile {where}, and link -L{tools.library_folder()} -lvfrt; "
            "or pkg-config --cflags --libs vfriendly")


def write(done: Plan, began_ns: int) -> None:
    """Writes the files of a plan; not those that changed since began_ns, while they were read."""
    refused: dict[str, str] = {}
    for path in done.files:
        try:
            if os.stat(path).st_mtime_ns > began_ns:
                refused[path] = f"{path} was changed during the scan: run it again"
            elif not os.access(path, os.W_OK):
                refused[path] = f"{path} cannot be written"
        except OSError as error:
            refused[path] = f"{path}: {error.strerror}"
    if refused:
        # If one of the files is refused, no file is changed: fixes that also edit the refused file
        # would be applied in part, and leaving these fixes out needs a new plan.
        why = next(iter(refused.values()))
        done.left += [(f, f"nothing was changed, as {why}") for f in done.applied]
        done.files, done.applied = {}, []
    for path, data in done.files.items():
        real = os.path.realpath(path)
        mode = stat.S_IMODE(os.stat(real).st_mode)
        cache.replace(Path(real), data)
        os.chmod(real, mode)


@dataclass(frozen=True)
class Suggestion:
    """A fix as whole lines of one file: first to last (from 1, inclusive) become text."""

    path: str
    first: int
    last: int
    text: str


def suggestion(edits: Sequence[Edit], source: Source) -> Suggestion | None:
    """Returns None if the edits are in several files."""
    if not edits or len({e.path for e in edits}) != 1:
        return None
    first = source.position(min(e.offset for e in edits)).line
    last = max(source.position(max(e.offset, e.offset + e.length - 1)).line for e in edits)
    begin = source.offset(first)
    end = source.offset(last) + len(source.line(last))
    # Makes the offsets relative to the first line of the suggestion.
    moved = [Edit(e.path, e.offset - begin, e.length, e.text) for e in edits]
    text = edited(Source(source.data[begin:end]), moved)
    return Suggestion(edits[0].path, first, last, decode(text))


def patch(edits: Iterable[Edit], sources: Sources, names: dict[str, str]) -> str:
    """Returns the fix as a unified diff. names: the path to show for each file."""
    by_file: dict[str, list[Edit]] = {}
    for e in edits:
        by_file.setdefault(e.path, []).append(e)
    out: list[str] = []
    for path, es in sorted(by_file.items()):
        name = names[path]
        before = decode(sources[path].data).splitlines(keepends=True)
        after = decode(edited(sources[path], es)).splitlines(keepends=True)
        for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"):
            out.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(out)


def within(lines: Sequence[tuple[int, int]], first: int, last: int) -> bool:
    """Returns True if one of the sorted line ranges contains first..last."""
    at = bisect.bisect_right(lines, (first, 1 << 60)) - 1
    return at >= 0 and lines[at][0] <= first and last <= lines[at][1]
