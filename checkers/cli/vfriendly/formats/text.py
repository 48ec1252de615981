# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""For people, and for editors that read compilers' messages: PATH:LINE:COLUMN: LEVEL: …"""

from vfriendly import escaping, formats
from vfriendly.findings import Finding
from vfriendly.fingerprint import relative
from vfriendly.measuring.table import place_name
from vfriendly.scanning import Result


def finding_lines(f: Finding, result: Result) -> list[str]:
    path = relative(f.path, result.root)
    fix = " (has a fix)" if f.edits else ""
    out = [f"{path}:{f.line}:{f.column}: {formats.level(f)}: {f.message} [{f.check}]{fix}"]
    for note in f.notes:
        place = result.sources[note.path].position(note.offset)
        out.append(f"{relative(note.path, result.root)}:{place.line}:{place.byte}: note: {note.text}")
    out += [f"  {r.name}: {r.kind.lower()}: {r.text}" for r in f.remarks]
    cost = result.joined.of(f) if result.joined else None
    if cost:
        out.append(f"  measured: {cost.text()}")
    return out


def other_lines(result: Result) -> list[str]:
    """What follows the findings."""
    out = []
    for hot in result.joined.hot if result.joined else ():
        out.append(f"hot place without a finding: {place_name(hot)}: {hot.cause}, {hot.cost:.2f} s")
    if result.joined and result.joined.unseen:
        out.append(f"{formats.count(result.joined.unseen, 'finding')} about memory that the measured run did not take: "
                   "left out")
    for p in result.problems:
        path = relative(p.path, result.root)
        out.append(f"{path}: {formats.describe_problem(p.status, p.reason)}")
    out.append(summary(result))
    return out


def write(result: Result) -> str:
    out = [line for f in result.findings for line in finding_lines(f, result)] + other_lines(result)
    return "".join(escaping.terminal(line) + "\n" for line in out)


# Maximum numbers of flags to name, and of characters of each.
MOST_FLAGS, LONGEST_FLAG = 20, 100


def _some(flags: list[str]) -> str:
    shown = [flag if len(flag) <= LONGEST_FLAG else flag[:LONGEST_FLAG] + "..." for flag in flags[:MOST_FLAGS]]
    return " ".join(shown) + (f" and {len(flags) - MOST_FLAGS} more" if len(flags) > MOST_FLAGS else "")


def summary(result: Result) -> str:
    fixes = sum(bool(f.edits) for f in result.findings)
    partial = sum(p.status == "partial" for p in result.problems)
    parts = [f"{formats.count(len(result.findings), 'finding')}, {fixes} with a fix; "
             f"{formats.count(result.units, 'unit')}"]
    if result.cached:
        parts.append(f"{result.cached} from the cache")
    if partial:
        parts.append(f"{partial} examined only in part")
    if len(result.problems) - partial:
        parts.append(f"{len(result.problems) - partial} not examined")
    if result.other_languages:
        parts.append(f"{result.other_languages} of other languages left out")
    if result.dropped:
        parts.append("flags that clang does not know dropped: " + _some(result.dropped))
    if result.left_out:
        parts.append("options that do not only say how to read the code left out: " + _some(result.left_out))
    return ", ".join(parts)
