# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report: one HTML page that needs nothing else, neither files nor a network."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from vfriendly import catalogue, fixes, formats
from vfriendly.escaping import html_text as escape
from vfriendly.findings import Finding
from vfriendly.fingerprint import relative
from vfriendly.formats.text import summary
from vfriendly.page import profile
from vfriendly.scanning import Result
from vfriendly.sources import decode

# Whatever a text of others does, the page loads nothing and sends nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
HERE = Path(__file__).resolve().parent
# AROUND is the number of lines shown before and after the construct that contains a finding,
# LONGEST the maximum number of lines shown before and after the line of the finding.
AROUND, LONGEST = 3, 40
# Maximum number of rows of a plot; all further entries share one more row.
ROWS = 12


def plot(title: str, counts: Counter[str]) -> str:
    if not counts:
        return ""
    rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in rows[ROWS:])
    rows = rows[:ROWS] + ([(f"{len(rows) - ROWS} more", rest)] if rest else [])
    most = max(count for _, count in rows)
    out = [f"<figure><figcaption>{escape(title)}</figcaption>"]
    for name, count in rows:
        width = f"{100 * count / most:.1f}"
        out.append(f'<div class="row"><span>{escape(name)}</span><svg aria-hidden="true" '
                   f'preserveAspectRatio="none" viewBox="0 0 100 10"><rect width="{width}" '
                   f'height="10"/></svg><span>{count}</span></div>')
    return "".join([*out, "</figure>"])


def code(finding: Finding, result: Result) -> str:
    source = result.sources[finding.path]
    first = last = finding.line
    if finding.extent:
        first = min(first, source.position(finding.extent.begin).line)
        last = max(last, source.position(max(finding.extent.begin, finding.extent.end - 1)).line)
    begin = max(1, first - AROUND, finding.line - LONGEST)
    end = min(len(source.starts), last + AROUND, finding.line + LONGEST)
    rows = []
    for number in range(begin, end + 1):
        here = " here" if number == finding.line else ""
        text = escape(decode(source.line(number)))
        rows.append(f'<span class="code{here}"><i>{number}</i>{text}</span>')
    return f"<pre>{''.join(rows)}</pre>"


# Of a patch: how its lines begin, and their class. The names of the files come first, as they begin like changes.
KINDS = (("+++ ", "quiet"), ("--- ", "quiet"), ("@@", "quiet"), ("+", "added"), ("-", "removed"))


def patch(text: str) -> str:
    """Returns a patch with its lines in colours, each of which begins with a sign of its own, too."""
    rows = []
    for line in text.split("\n"):
        kind = next((f" {kind}" for begin, kind in KINDS if line.startswith(begin)), "")
        rows.append(f'<span class="code{kind}">{escape(line)}</span>')
    return f"<pre>{''.join(rows)}</pre>"


def one(finding: Finding, result: Result, shown: bool = False) -> str:
    level, rule = formats.level(finding), catalogue.rule(finding.check)
    place = f"{relative(finding.path, result.root)}:{finding.line}:{finding.column}"
    out = [
        f'<details class="finding" id="{finding.fingerprint}" ',
        f'data-check="{escape(finding.check)}"{" open" if shown else ""}>',
        f'<summary><span class="level {level}">{level}</span> <span class="place">{escape(place)}</span> ',
        f'<span class="quiet">{escape(finding.check)}{", has a fix" if finding.edits else ""}</span><br>',
        f"{escape(finding.messages[0])}</summary><div>", code(finding, result),
    ]
    out += [f"<p>{escape(message)}</p>" for message in finding.messages[1:]]
    rows = []
    for note in finding.notes:
        at = result.sources[note.path].position(note.offset)
        rows.append(f"{relative(note.path, result.root)}:{at.line}: {note.text}")
    rows += [f"{r.name} {r.kind.lower()}: {r.text}" for r in finding.remarks]
    if rows:
        out.append("<ul>" + "".join(f"<li>{escape(row)}</li>" for row in rows) + "</ul>")
    if finding.edits:
        names = {e.path: relative(e.path, result.root) for e in finding.edits}
        out += ["<p>Fix:</p>", patch(fixes.patch(finding.edits, result.sources, names).rstrip("\n"))]
    cost = result.joined.of(finding) if result.joined else None
    if cost:
        out.append(f"<p><strong>Measured:</strong> {escape(cost.text())}</p>")
    units = ", ".join(finding.units[:8]) + (f" and {len(finding.units) - 8} more" if len(finding.units) > 8 else "")
    out += [f'<p class="quiet">Weight {finding.weight}. Units: {escape(units)}. ',
            f'<a href="{escape(rule.url)}">{escape(rule.title)}</a></p></div></details>']
    return "".join(out)


def folders(findings: Iterable[Finding], root: str) -> Counter[str]:
    return Counter(relative(f.path, root).rpartition("/")[0] or "." for f in findings)


def write(result: Result, title: str) -> str:
    findings = result.findings
    checks = Counter(f.check for f in findings)
    kinds = Counter(f"{r.name} {r.kind.lower()}" for f in findings for r in f.remarks)
    problems = "".join(f"<li>{escape(relative(p.path, result.root))}: "
                       f"{escape(formats.describe_problem(p.status, p.reason))}</li>" for p in result.problems)
    order = "most costly" if result.joined else "weightiest"
    options = "".join(f'<option>{escape(name)}</option>' for name in sorted(checks))
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{(HERE / 'page.css').read_text()}</style></head><body>",
        f"<h1>{escape(title)}</h1><p>{escape(summary(result))}</p>",
        f'<div class="problems"><h2>Not examined completely</h2><ul>{problems}</ul></div>' if problems else "",
        profile.section(result.joined) if result.joined else "",
        '<div class="charts">', plot("Findings of each check", checks),
        plot("Findings in each folder", folders(findings, result.root)),
        plot("What the passes do there", kinds), "</div>",
        f"<h2>Findings, the {order} first</h2>" if findings else "<p>Nothing was found.</p>",
    ]
    if findings:
        parts.append('<div class="filter"><input id="text" type="search" aria-label="Filter" '
                     'placeholder="file, message"><select id="check" aria-label="Check">'
                     f'<option value="">all checks</option>{options}</select></div>'
                     '<p id="shown" class="quiet" aria-live="polite"></p>')
        parts += [one(f, result, number == 0) for number, f in enumerate(findings)]
        parts.append(f"<script>{(HERE / 'page.js').read_text()}</script>")
    return "".join([*parts, "</body></html>\n"])
