# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Findings, independent of the units that they come from.

Diagnostics of a unit come from `clang-tidy --export-fixes`. A header's findings come once
from each unit that includes it; those that agree in file, offset and check are one
finding, whose messages are kept as a list where they differ.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vfriendly import catalogue


@dataclass(frozen=True, order=True)
class Edit:
    path: str
    offset: int
    length: int
    text: str


@dataclass(frozen=True, order=True)
class Note:
    path: str
    offset: int
    text: str


@dataclass(frozen=True, order=True)
class Extent:
    """The construct that a finding is about, and the name of its function: byte ranges."""

    begin: int
    end: int
    name_begin: int = 0
    name_end: int = 0


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic of a unit, as exported; paths are absolute."""

    check: str
    message: str
    path: str
    offset: int
    level: str = "Warning"
    extent: Extent | None = None
    edits: tuple[Edit, ...] = ()
    notes: tuple[Note, ...] = ()

    def to_json(self) -> list[Any]:
        return [self.check, self.message, self.path, self.offset, self.level,
                self.extent and [self.extent.begin, self.extent.end, self.extent.name_begin,
                                 self.extent.name_end],
                [[e.path, e.offset, e.length, e.text] for e in self.edits],
                [[n.path, n.offset, n.text] for n in self.notes]]

    @staticmethod
    def from_json(row: list[Any]) -> "Diagnostic":
        """Raises ValueError or TypeError if the row is not what to_json returns."""
        check, message, path, offset, level, extent, edits, notes = row
        texts = [check, message, path, level, *(t for e in edits for t in (e[0], e[3]))]
        texts += [t for n in notes for t in (n[0], n[2])]
        numbers = [offset, *(extent or ()), *(t for e in edits for t in e[1:3]), *(n[1] for n in notes)]
        if not all(isinstance(t, str) for t in texts) or not all(type(n) is int and n >= 0 for n in numbers) \
                or (extent and len(extent) != 4):
            raise ValueError("it is no diagnostic")
        return Diagnostic(check, message, path, offset, level, Extent(*extent) if extent else None,
                          tuple(Edit(*e) for e in edits), tuple(Note(*n) for n in notes))


@dataclass(frozen=True)
class Remark:
    """What a pass did at a place (Passed), or why it did not (Missed), or saw (Analysis)."""

    kind: str
    name: str
    path: str
    line: int
    column: int
    text: str
    function: str = ""

    @staticmethod
    def from_json(row: list[Any]) -> "Remark":
        """Raises ValueError or TypeError if the row is not that of a remark."""
        kind, name, path, line, column, text, function = row
        words, numbers = (kind, name, path, text, function), (line, column)
        if not all(isinstance(t, str) for t in words) or not all(type(n) is int for n in numbers):
            raise ValueError("it is no remark")
        return Remark(kind, name, path, line, column, text, function)


@dataclass
class Finding:
    check: str
    path: str
    offset: int
    level: str
    messages: list[str]
    extent: Extent | None
    edits: tuple[Edit, ...]
    notes: list[Note]
    units: list[str]
    weight: int = catalogue.DEFAULT_WEIGHT
    fingerprint: str = ""
    line: int = 0
    column: int = 0  # bytes, from 1
    remarks: list[Remark] = field(default_factory=list)

    @property
    def message(self) -> str:
        return "; also: ".join(self.messages)

    def rank(self) -> tuple[Any, ...]:
        """Sorts findings, the most important ones first."""
        return (-self.weight, not self.edits, -len(self.units), self.path, self.offset,
                self.check)


CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
INCLUDE = re.compile(r"^\s*#\s*include\b")


def _calls(edits: Iterable[Edit]) -> set[str]:
    return {name for e in edits if not INCLUDE.match(e.text) for name in CALL.findall(e.text)}


def complete_includes(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Adds to fixes of a unit the #include that clang-tidy adds only to the first fix of a file.

    A fix needs the #include if it calls a function that the first fix calls.
    """
    first: dict[tuple[str, str], list[tuple[Edit, set[str]]]] = {}
    done = []
    for d in diagnostics:
        owned = [e for e in d.edits if INCLUDE.match(e.text)]
        known = first.setdefault((d.check, d.path), [])
        calls = _calls(d.edits)
        known += [(e, calls) for e in owned]
        missing = [e for e, others in known if calls & others and e not in d.edits]
        if missing:
            d = Diagnostic(d.check, d.message, d.path, d.offset, d.level, d.extent,
                           tuple(sorted({*d.edits, *missing})), d.notes)
        done.append(d)
    return done


def overlap(a: Edit, b: Edit) -> bool:
    """Returns True unless both edits can be made, with the same result in either order."""
    if a == b or a.path != b.path:
        return False
    if a.offset == b.offset and not (a.length and b.length):
        return True
    return a.offset < b.offset + b.length and b.offset < a.offset + a.length


def join(ours: tuple[Edit, ...], others: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Joins the fixes of one place by two units, each of which may also edit its own file.

    Returns no fix if one unit has none (the change is unsafe there), or if they disagree.
    """
    if not ours or not others:
        return ()
    if any(overlap(a, b) for a in ours for b in others):
        return ()
    return tuple(sorted({*ours, *others}))


def merge(units: Iterable[tuple[str, Iterable[Diagnostic]]]) -> list[Finding]:
    """Merges the findings of all units. The result does not depend on their order."""
    found: dict[tuple[str, int, str], Finding] = {}
    for unit, diagnostics in sorted(units, key=lambda pair: pair[0]):
        for d in complete_includes(diagnostics):
            key = (d.path, d.offset, d.check)
            f = found.get(key)
            if f is None:
                found[key] = Finding(d.check, d.path, d.offset, d.level, [d.message], d.extent,
                                     d.edits, list(d.notes), [unit])
                continue
            if d.message not in f.messages:
                f.messages.append(d.message)
            if unit not in f.units:
                f.units.append(unit)
            f.notes += [n for n in d.notes if n not in f.notes]
            f.extent = f.extent or d.extent
            if d.level == "Error":
                f.level = "Error"
            f.edits = join(f.edits, d.edits)
    for f in found.values():
        f.weight = max(catalogue.rule(f.check).weight(m) for m in f.messages)
    return sorted(found.values(), key=lambda f: f.rank())
