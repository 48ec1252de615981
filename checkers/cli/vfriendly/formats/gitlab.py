# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GitLab's Code Quality report; it shows one finding for each fingerprint."""

import hashlib
import json

from vfriendly import escaping, formats
from vfriendly.fingerprint import relative
from vfriendly.scanning import Result

SEVERITIES = {"error": "critical", "warning": "major", "note": "minor"}


def write(result: Result) -> str:
    rows = [{
        "description": escaping.report(f.message), "check_name": f.check, "fingerprint": f.fingerprint,
        "severity": SEVERITIES[formats.level(f)],
        "location": {"path": relative(f.path, result.root), "lines": {"begin": f.line}},
    } for f in result.findings]
    for p in result.problems:
        path = relative(p.path, result.root)
        text = f"{formats.NOT_EXAMINED}\0{path}\0{p.reason}"
        name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        rows.append({
            "description": escaping.report(formats.describe_problem(p.status, p.reason)),
            "check_name": formats.NOT_EXAMINED, "fingerprint": name, "severity": "blocker",
            "location": {"path": path, "lines": {"begin": 1}},
        })
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
