# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A review with suggestions: the body of POST /repos/OWNER/REPO/pulls/NUMBER/reviews.

  vfriendly review … --format github-review -o r.json &&
    gh api repos/OWNER/REPO/pulls/NUMBER/reviews --input r.json

GitHub accepts comments on lines of the diff only: a finding on another line of a changed
construct is put on the construct's first line in the diff, and any other into the body.
"""

import json
from typing import Any

from vfriendly import catalogue, escaping, formats
from vfriendly.findings import Finding
from vfriendly.fingerprint import relative
from vfriendly.fixes import within
from vfriendly.scanning import Result


def _line(finding: Finding, result: Result) -> int | None:
    if result.hunks is None:
        return finding.line
    hunks = result.hunks.get(finding.path, [])
    if within(hunks, finding.line, finding.line):
        return finding.line
    if finding.extent:
        source = result.sources[finding.path]
        first = source.position(finding.extent.begin).line
        last = source.position(finding.extent.end).line
        return next((max(first, a) for a, b in hunks if a <= last and b >= first), None)
    return None


def write(result: Result) -> str:
    comments: list[dict[str, Any]] = []
    body = []
    for f in result.findings:
        path, note = relative(f.path, result.root), formats.comment(f, result)
        text = f"{note.text}\n\n[{f.check}]({catalogue.rule(f.check).url})"
        line = _line(f, result)
        if line is None:
            body.append(f"{escaping.markdown_code(f'{path}:{f.line}')}: {text}")
            continue
        one: dict[str, Any] = {"path": path, "line": line, "side": "RIGHT"}
        if note.suggestion:
            s = note.suggestion
            one["line"] = s.last
            if s.first != s.last:
                one["start_line"], one["start_side"] = s.first, "RIGHT"
            fence = escaping.fence(s.text)
            text += f"\n{fence}suggestion\n{s.text}\n{fence}"
        comments.append({**one, "body": text})
    body += [f"{escaping.markdown_code(relative(p.path, result.root))}: "
             f"{escaping.markdown(formats.describe_problem(p.status, p.reason))}"
             for p in result.problems]
    review = {"event": "COMMENT", "body": "\n\n".join(body), "comments": comments}
    return json.dumps(review, indent=1, ensure_ascii=False) + "\n"
