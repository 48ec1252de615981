# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads what clang-tidy --export-fixes and clang's optimization records write: YAML."""

import re
from typing import Any

import yaml

from vfriendly.documents import LOADER as Loader
from vfriendly.findings import Diagnostic, Edit, Extent, Note, Remark
from vfriendly.sources import real

# LLVM writes this in place of text that is not UTF-8, and leaves out the rest of the text.
LOST = "\N{REPLACEMENT CHARACTER}"


def _join(directory: str, path: str) -> str:
    return real(directory, path) if path else ""


def _extent(message: dict[str, Any], directory: str) -> Extent | None:
    file = _join(directory, message["FilePath"])
    ranges = [(r["FileOffset"], r["FileOffset"] + r["Length"])
              for r in message.get("Ranges") or [] if _join(directory, r["FilePath"]) == file]
    if not ranges:
        return None
    return Extent(*ranges[0], *(ranges[1] if len(ranges) > 1 else (0, 0)))


def _edits(message: dict[str, Any], directory: str) -> tuple[Edit, ...]:
    edits = [Edit(_join(directory, r["FilePath"]), r["Offset"], r["Length"],
                  r["ReplacementText"] or "") for r in message.get("Replacements") or []]
    if any(LOST in e.text for e in edits):
        return ()  # a part of the text is lost
    return tuple(sorted(set(edits)))


def diagnostics(data: bytes) -> list[Diagnostic]:
    """Returns all diagnostics of a unit, also those of the compiler. Raises yaml.YAMLError or KeyError."""
    document = yaml.load(data.decode("utf-8", "replace"), Loader) or {}
    found = []
    for row in document.get("Diagnostics") or []:
        directory, message = row.get("BuildDirectory") or "/", row["DiagnosticMessage"]
        notes = [Note(_join(directory, n["FilePath"]), n["FileOffset"], n["Message"])
                 for n in row.get("Notes") or [] if n.get("FilePath")]
        found.append(Diagnostic(
            row["DiagnosticName"], message["Message"], _join(directory, message["FilePath"]),
            message["FileOffset"], row.get("Level", "Warning"), _extent(message, directory),
            _edits(message, directory), tuple(notes)))
    return found


class _Remarks(Loader):  # type: ignore[misc]
    """Loads remarks: each is a document, with the kind of the remark as its tag."""


def _tagged(loader: Any, suffix: str, node: Any) -> dict[str, Any]:
    return {**loader.construct_mapping(node, deep=True), "kind": suffix}


_Remarks.add_multi_constructor("!", _tagged)
PASS = re.compile(r"vf-[\w-]+$")


def remarks(data: bytes, directory: str) -> list[Remark]:
    found = []
    for row in yaml.load_all(data.decode("utf-8", "replace"), _Remarks):
        place = row and row.get("DebugLoc")
        if not place or not PASS.match(row.get("Pass", "")):
            continue
        text = "".join(str(value) for argument in row.get("Args") or []
                       for key, value in argument.items() if key != "DebugLoc")
        found.append(Remark(row["kind"], row["Pass"], _join(directory, place["File"]),
                            place["Line"], place["Column"], text, row.get("Function", "")))
    return found
