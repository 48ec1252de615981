# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SARIF 2.1.0, with fixes, fingerprints, ranks and links to the guidelines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypedDict

from vfriendly import __version__, catalogue, escaping, formats
from vfriendly.findings import Edit, Finding
from vfriendly.fingerprint import relative
from vfriendly.scanning import Result

if TYPE_CHECKING:  # the typing of Python 3.10 lacks it
    from typing_extensions import NotRequired

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
BASE = "SRCROOT"
FINGERPRINT = "vfriendly/v1"


class Message(TypedDict):
    text: str
    markdown: NotRequired[str]


class ArtifactLocation(TypedDict):
    uri: str
    uriBaseId: NotRequired[str]


class Region(TypedDict):
    startLine: int
    startColumn: int
    endLine: NotRequired[int]
    endColumn: NotRequired[int]


class PhysicalLocation(TypedDict):
    artifactLocation: ArtifactLocation
    region: NotRequired[Region]
    contextRegion: NotRequired[Region]


class Location(TypedDict):
    physicalLocation: PhysicalLocation
    message: NotRequired[Message]


class Replacement(TypedDict):
    deletedRegion: Region
    insertedContent: NotRequired[Message]


class ArtifactChange(TypedDict):
    artifactLocation: ArtifactLocation
    replacements: list[Replacement]


class Fix(TypedDict):
    description: Message
    artifactChanges: list[ArtifactChange]


class SarifResult(TypedDict):
    ruleId: str
    ruleIndex: int
    level: str
    rank: float
    message: Message
    locations: list[Location]
    partialFingerprints: dict[str, str]
    relatedLocations: NotRequired[list[Location]]
    fixes: NotRequired[list[Fix]]
    properties: NotRequired[dict[str, Any]]


def _artifact(path: str, root: str) -> ArtifactLocation:
    name = relative(path, root)
    if name.startswith("/"):
        return {"uri": "file://" + escaping.uri(name)}
    return {"uri": escaping.uri(name), "uriBaseId": BASE}


class Writer:
    def __init__(self, result: Result) -> None:
        self.result = result
        self.rules = [catalogue.rule(c) for c in sorted({f.check for f in result.findings})]
        self.index = {rule.name: i for i, rule in enumerate(self.rules)}

    def region(self, path: str, begin: int, end: int | None = None) -> Region:
        source = self.result.sources[path]
        start = source.position(begin)
        region: Region = {"startLine": start.line, "startColumn": start.utf16}
        if end is not None:
            stop = source.position(end)
            region["endLine"], region["endColumn"] = stop.line, stop.utf16
        return region

    def location(self, path: str, region: Region, context: Region | None = None) -> Location:
        place: PhysicalLocation = {"artifactLocation": _artifact(path, self.result.root),
                                   "region": region}
        if context:
            place["contextRegion"] = context
        return {"physicalLocation": place}

    def fix(self, finding: Finding) -> Fix:
        files: dict[str, list[Edit]] = {}
        for e in finding.edits:
            files.setdefault(e.path, []).append(e)
        changes: list[ArtifactChange] = []
        for path, edits in sorted(files.items()):
            replacements: list[Replacement] = []
            for e in sorted(edits):
                one: Replacement = {"deletedRegion": self.region(path, e.offset, e.offset + e.length)}
                if e.text:
                    one["insertedContent"] = {"text": e.text}
                replacements.append(one)
            changes.append({"artifactLocation": _artifact(path, self.result.root),
                            "replacements": replacements})
        return {"description": {"text": f"Apply the fix of {finding.check}"}, "artifactChanges": changes}

    def one(self, f: Finding) -> SarifResult:
        context = self.region(f.path, f.extent.begin, f.extent.end) if f.extent else None
        joined = self.result.joined
        out: SarifResult = {
            "ruleId": f.check, "ruleIndex": self.index[f.check], "level": formats.level(f),
            "rank": joined.rank(f) if joined else float(f.weight), "message": {"text": escaping.sarif(f.message)},
            "locations": [self.location(f.path, self.region(f.path, f.offset), context)],
            "partialFingerprints": {FINGERPRINT: f.fingerprint},
        }
        related = [(n, self.location(n.path, self.region(n.path, n.offset))) for n in f.notes]
        for note, place in related:
            place["message"] = {"text": escaping.sarif(note.text)}
        if related:
            out["relatedLocations"] = [place for _, place in related]
        if f.edits:
            out["fixes"] = [self.fix(f)]
        properties: dict[str, Any] = {"units": f.units}
        if f.remarks:
            properties["remarks"] = [escaping.report(f"{r.name}: {r.kind.lower()}: {r.text}") for r in f.remarks]
        cost = joined.of(f) if joined else None
        if cost:
            properties["measured"] = {**{k: v for k, v in vars(cost).items() if k != "counts"}, **(cost.counts or {})}
        out["properties"] = properties
        return out

    def document(self) -> dict[str, object]:
        rules = [{
            "id": r.name,
            "shortDescription": {"text": r.title},
            "fullDescription": {"text": r.sentence},
            "helpUri": r.url,
            "help": {"text": f"{r.sentence} See {r.url}", "markdown": f"{r.sentence} [{r.title}]({r.url})"},
        } for r in self.rules]
        notifications = [{
            "level": "error", "message": {"text": escaping.sarif(formats.describe_problem(p.status, p.reason))},
            "locations": [{"physicalLocation": {
                "artifactLocation": _artifact(p.path, self.result.root)}}],
        } for p in self.result.problems]
        invocation = {"executionSuccessful": not self.result.problems,
                      "toolExecutionNotifications": notifications}
        driver = {"name": "vfriendly", "version": __version__, "informationUri": catalogue.address(),
                  "rules": rules}
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{
            "tool": {"driver": driver}, "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": {BASE: {"uri": "file://" + escaping.uri(self.result.root.rstrip("/")) + "/"}},
            "invocations": [invocation], "results": [self.one(f) for f in self.result.findings],
        }]}


def write(result: Result) -> str:
    return json.dumps(Writer(result).document(), indent=1, ensure_ascii=False) + "\n"
