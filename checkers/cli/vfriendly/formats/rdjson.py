# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""reviewdog's diagnostic format; its columns count bytes."""

import json
from typing import Any

from vfriendly import catalogue, escaping, formats
from vfriendly.fingerprint import relative
from vfriendly.scanning import Result

SEVERITIES = {"error": "ERROR", "warning": "WARNING", "note": "INFO"}


def write(result: Result) -> str:
    rows: list[dict[str, Any]] = []
    for f in result.findings:
        note = formats.comment(f, result)
        row: dict[str, Any] = {
            "message": note.text,
            "location": {"path": relative(f.path, result.root),
                         "range": {"start": {"line": f.line, "column": f.column}}},
            "severity": SEVERITIES[formats.level(f)],
            "code": {"value": f.check, "url": catalogue.rule(f.check).url},
        }
        if note.suggestion:
            s = note.suggestion
            end = len(result.sources[s.path].line(s.last)) + 1
            row["suggestions"] = [{
                "range": {"start": {"line": s.first, "column": 1}, "end": {"line": s.last, "column": end}},
                "text": s.text,
            }]
        rows.append(row)
    for p in result.problems:
        rows.append({
            "message": escaping.markdown(formats.describe_problem(p.status, p.reason)),
            "location": {"path": relative(p.path, result.root)},
            "severity": "ERROR", "code": {"value": formats.NOT_EXAMINED},
        })
    document = {"source": {"name": "vfriendly", "url": catalogue.address()}, "diagnostics": rows}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
