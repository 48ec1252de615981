# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Computes fingerprints, by which a later scan recognizes findings.

A fingerprint is made of the path, the check, the enclosing function, the line without its
blanks, and an ordinal among those that agree in all of this. It is the same after lines
were moved or indented, and differs between twins.
"""

import hashlib
import os
import re
from collections.abc import Iterable

from vfriendly.findings import Finding
from vfriendly.sources import Source, Sources, decode

# Matches the first line of a function as git does; used if the check did not name the function.
HEAD = re.compile(rb"^[A-Za-z_][^;]*\(|^[A-Za-z_][\w ]*\{?$")
# Maximum number of lines to search backwards for the start of a function that the check did not name.
FAR = 2000


def relative(path: str, root: str) -> str:
    inside = os.path.relpath(path, root)
    return path if inside.startswith("..") or root == os.sep else inside.replace(os.sep, "/")


def function_of(finding: Finding, source: Source) -> str:
    extent = finding.extent
    if extent and extent.name_end > extent.name_begin:
        return decode(source.data[extent.name_begin:extent.name_end])
    at = source.position(finding.offset).line
    for number in range(at, max(0, at - FAR), -1):
        line = source.line(number)
        if HEAD.match(line):
            return "".join(decode(line).split())
    return ""


def add(findings: Iterable[Finding], sources: Sources, root: str,
        renamed: dict[str, str] | None = None) -> None:
    """Sets line, column and fingerprint of each. renamed: paths under which to know files."""
    seen: dict[tuple[str, ...], int] = {}
    for f in sorted(findings, key=lambda f: (f.path, f.offset, f.check)):
        source = sources[f.path]
        place = source.position(f.offset)
        f.line, f.column = place.line, place.byte
        path = relative((renamed or {}).get(f.path, f.path), root)
        text = "".join(decode(source.line(place.line)).split())
        parts = (path, f.check, function_of(f, source), text)
        ordinal = seen[parts] = seen.get(parts, -1) + 1
        text = "\0".join([*parts, str(ordinal)])
        f.fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
