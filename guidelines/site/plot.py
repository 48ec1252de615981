# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws committed figures as an SVG bar chart.

  {"title": "...", "unit": "...", "command": "./dev bench NAME", "commit": "...",
   "bars": [{"name": "...", "value": 1.5}, ...]}

Bars grow from zero on a linear scale, so that lengths compare as values do.
"""

import html

WIDTH, NAMES, VALUES, ROW, TOP = 640, 200, 90, 26, 34  # px


def bars(figures):
    """Returns the SVG text. Raises KeyError or ValueError if FIGURES has not the form above."""
    rows = figures["bars"]
    top = max((float(r["value"]) for r in rows), default=0)
    if not rows or top <= 0 or any(float(r["value"]) < 0 for r in rows):
        raise ValueError("needs bars, no value below 0, and one above")
    height = TOP + ROW * len(rows) + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="sans-serif" font-size="13">',
        f'<title>{html.escape(figures["title"])}</title>',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="8" y="20" font-weight="bold">{html.escape(figures["title"])}, {html.escape(figures["unit"])}</text>',
    ]
    for i, row in enumerate(rows):
        y = TOP + ROW * i
        length = (WIDTH - NAMES - VALUES) * float(row["value"]) / top
        parts.append(f'<text x="8" y="{y + 16}">{html.escape(row["name"])}</text>')
        parts.append(f'<rect x="{NAMES}" y="{y + 3}" width="{max(length, 1):.1f}" height="{ROW - 8}" fill="#4051b5"/>')
        parts.append(f'<text x="{NAMES + length + 6:.1f}" y="{y + 16}">{row["value"]:,}</text>')
    where = f'{figures["command"]}, commit {figures["commit"][:10]}'
    parts.append(f'<text x="8" y="{height - 8}" fill="#555" font-size="11">{html.escape(where)}</text>')
    return "\n".join(parts + ["</svg>", ""])
