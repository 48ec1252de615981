# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the findings that a change brings: those that overlap it, and those that its base does not have.

Only units that read a changed file are examined. A finding outside of the changed lines, as after
the change of a macro in a header, belongs to the change if the base has no finding with its
fingerprint. To find out, its units are examined with the old contents of the changed files.
"""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from vfriendly import changes, children, fingerprint, temporary, tools
from vfriendly.changes import Change
from vfriendly.database import Unit
from vfriendly.errors import Refused
from vfriendly.findings import Finding, merge
from vfriendly.fingerprint import relative
from vfriendly.scanning import Result
from vfriendly.sources import Source, Sources, real
from vfriendly.unit import Examiner, Outcome, read_files

# What a message says if the change does not edit the line of the finding.
UNEDITED = " (the change edits this function, not this line)"
ELSEWHERE = " (new by an edit elsewhere)"


def readers(units: Sequence[Unit], changed: set[str], examiner: Examiner, scan_deps: str | None,
            jobs: int, change: Change | None = None) -> list[Unit]:
    """Returns the units that read a changed file, or of which this is not known.

    The list of files of a unit that was examined before is in the cache. The list may be of an older
    state of the files; but a unit reads another file only if one of the files in the list has changed,
    or if the change has brought a file (which may hide another), or has let a link lead elsewhere.
    """
    if change and change.elsewhere:
        for unit in units:
            examiner.distrust(unit)
        return list(units)
    own = {real(unit.directory, unit.file) for unit in units}
    is_known = not change or change.added <= own
    chosen, unknown = list[Unit](), list[Unit]()
    for unit in units:
        files = examiner.known_files(unit)
        if real(unit.directory, unit.file) in changed or (files and changed.intersection(files)):
            chosen.append(unit)
        elif files is None or not is_known:
            unknown.append(unit)
    if not unknown and is_known:
        return chosen
    asked = unknown if is_known else list(units)
    lists = _scan(asked, scan_deps, jobs, examiner.timeout) if scan_deps else {}
    for unit in unknown:
        found = lists.get(unit.file)
        if found is None or changed & found:
            chosen.append(unit)
    if change and not is_known:
        for unit in chosen:
            read = lists.get(unit.file)
            if read is None or change.added & read:
                examiner.distrust(unit)
    return chosen


def _scan(units: Sequence[Unit], scan_deps: str, jobs: int, seconds: float) -> dict[str, set[str]]:
    """Returns the files that units read, by clang-scan-deps, without units whose preprocessing fails."""
    with temporary.folder() as folder:
        database = Path(folder) / "compile_commands.json"
        database.write_text(json.dumps([u.entry(u.arguments) for u in units]))
        command = [scan_deps, "-compilation-database", str(database), "-j", str(jobs), "-format", "make"]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, env=temporary.environment(),
                                 preexec_fn=children.die_with_parent())
        children.limit(child.pid, files=False)
        try:
            rules = child.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            return {}  # a file that has no end: more units are examined
        finally:
            child.kill()
            child.wait()
    found: dict[str, set[str]] = {}
    folders = {u.file: u.directory for u in units}
    counts: dict[str, int] = {}
    for u in units:
        counts[u.file] = counts.get(u.file, 0) + 1
    for rule in re.split(r"(?<!\\)\n", rules.decode("utf-8", "surrogateescape")):
        if not rule.strip():
            continue
        # names[0], the first prerequisite of the rule, is the source file of the unit.
        names = read_files(rule, "/")
        file = next((f for f in folders if names and real(folders[f], f) == real(folders[f], names[0])), None)
        if file:
            counts[file] -= 1
            found.setdefault(file, set()).update(read_files(rule, folders[file]))
    # If a file has several compile commands, all of them must have been scanned.
    return {file: files for file, files in found.items() if counts[file] <= 0}


def find_scan_deps() -> str | None:
    try:
        return tools.program("clang-scan-deps", None)
    except Refused:
        return None  # more units are examined, and nothing is missed


def touches(finding: Finding, change: Change, source: Source) -> bool:
    if change.is_elsewhere(finding.path):
        return True
    lines = change.changed.get(finding.path)
    if not lines:
        return False
    if not finding.extent:
        return changes.overlaps(lines, finding.line, finding.line)
    first = source.position(finding.extent.begin).line
    last = source.position(max(finding.extent.begin, finding.extent.end - 1)).line
    return changes.overlaps(lines, min(first, finding.line), max(last, finding.line))


def of_change(result: Result, change: Change, units: Sequence[Unit], examiner: Examiner) -> list[Finding]:
    """Returns those findings of the result that the change brings."""
    direct = [touches(f, change, result.sources[f.path]) for f in result.findings]
    for f, is_direct in zip(result.findings, direct, strict=True):
        if not changes.overlaps(change.changed.get(f.path, []), f.line, f.line):
            f.messages[-1] += UNEDITED if is_direct else ELSEWHERE
    if all(direct):
        return result.findings
    doubtful = {name for f, is_direct in zip(result.findings, direct, strict=True) if not is_direct
                for name in f.units}
    asked = [u for u in units if relative(real(u.directory, u.file), result.root) in doubtful]
    known = fingerprints_before(result, change, asked, examiner)
    return [f for f, is_direct in zip(result.findings, direct, strict=True)
            if is_direct or f.fingerprint not in known]


def fingerprints_before(result: Result, change: Change, units: Sequence[Unit],
                        examiner: Examiner) -> set[str]:
    """Returns the fingerprints of the findings that these units had at the base; none for a new unit."""
    old = {path: changes.content(result.root, change, path) for path in change.before}
    renamed = {path: os.path.join(result.root, path) for path in change.before}
    outcomes: list[tuple[Unit, Outcome]] = []
    with temporary.folder() as folder:
        roots = []
        for number, (path, data) in enumerate(sorted(old.items())):
            if any("\ud800" <= c <= "\udfff" for c in path):
                continue  # such a name cannot be written in an overlay
            kept = os.path.join(folder, str(number))
            Path(kept).write_bytes(data)
            roots.append({"type": "file", "name": path, "external-contents": kept})
        overlay = os.path.join(folder, "overlay.yaml")
        Path(overlay).write_text(json.dumps({
            "version": 0, "use-external-names": False, "case-sensitive": True, "roots": roots}))
        for unit in units:
            outcome = examiner.examine(unit, overlay)
            # A file that the change has brought is there nevertheless: what the unit had without it is not known.
            # It is if the unit itself had another name.
            brought = change.added - {real(unit.directory, unit.file)}.intersection(change.before)
            if not brought.intersection(outcome.files):
                outcomes.append((unit, outcome))
    sources = Sources(old)
    found = merge((u.name, o.diagnostics) for u, o in outcomes)
    fingerprint.add(found, sources, result.root, renamed)
    return {f.fingerprint for f in found}


