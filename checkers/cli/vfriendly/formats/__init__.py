# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The output formats: one module each, with write(result) -> str."""

import importlib
from dataclasses import dataclass

from vfriendly import catalogue, escaping
from vfriendly.findings import Finding
from vfriendly.fingerprint import relative
from vfriendly.fixes import Suggestion, patch, suggestion, within
from vfriendly.scanning import Result

NAMES = ("text", "sarif", "github", "github-review", "gitlab", "rdjson", "gerrit")
# Maximum number of lines of a suggestion. In a longer one the change is hard to find, so the
# comment contains a patch instead.
LONGEST_SUGGESTION = 40
NOT_EXAMINED = "vfriendly-not-examined"


def level(finding: Finding) -> str:
    """error, warning or note."""
    if finding.level == "Error":
        return "error"
    return "warning" if finding.weight >= catalogue.WARNING_WEIGHT else "note"


def count(number: int, noun: str) -> str:
    """Returns `1 finding`, `2 findings`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def describe_problem(status: str, reason: str) -> str:
    what = "examined only in part" if status == "partial" else "not examined"
    return f"{what}: {reason}"


@dataclass(frozen=True)
class Comment:
    """A finding as a reviewer reads it; a fix is either a suggestion or part of the text."""

    text: str
    suggestion: Suggestion | None


def comment(finding: Finding, result: Result) -> Comment:
    text = [escaping.markdown(finding.message)]
    text += [escaping.markdown(f"{r.name}: {r.text}") for r in finding.remarks]
    if not finding.edits:
        return Comment("\n".join(text), None)
    lines = suggestion(finding.edits, result.sources[finding.edits[0].path])
    hunks = result.hunks
    if lines and lines.path == finding.path and lines.last - lines.first < LONGEST_SUGGESTION \
            and (hunks is None or within(hunks.get(lines.path, ()), lines.first, lines.last)):
        return Comment("\n".join(text), lines)
    names = {e.path: escaping.terminal(relative(e.path, result.root)) for e in finding.edits}
    change = escaping.code(patch(finding.edits, result.sources, names)).rstrip("\n")
    mark = escaping.fence(change)
    text += ["", "Fix:", f"{mark}diff", change, mark]
    return Comment("\n".join(text), None)


def write(name: str, result: Result) -> str:
    module = importlib.import_module(f"vfriendly.formats.{name.replace('-', '_')}")
    return escaping.document(str(module.write(result)))
