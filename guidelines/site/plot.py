# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws committed figures as an SVG chart, and the times of vCPUs as a picture.

  {"title": "...", "unit": "ms", "command": "./dev bench NAME", "commit": "...", "source": "page.md",
   "series": ["original", "rewritten"],
   "rows": [{"name": "...", "values": [5.0, 1.5], "low": [...], "high": [...]}, ...]}

Bars grow from zero on a linear scale, so that lengths compare as values do; low and high, if given,
are drawn as the interval of each value. With "relative": true, a row has two values, its own unit,
and one bar: the second as a percentage of the first, or the reverse if the row has "more_is_better".
Every value stands in one line of `source`, which a row may also have, with its commit
(test/driver/site-stage.test).

  {"title": "...", "lanes": [{"name": "vCPU 0", "spans": [["work", 3, "holds the lock"], ...]}, ...]}

A span has a kind of KINDS, a length in any unit, and a text.

A chart is as narrow as a telephone, so that its text has the size of the page's there, and names
stand above bars. Colours follow the reader's choice of dark or light.
"""

import html

WIDTH, EDGE, BAR, NAME, CHARACTER = 380, 6, 16, 20, 6.2  # px; the last of small text
SERIES = ("first", "second", "third", "fourth")
KINDS = {"work": "runs", "wait": "polls", "gone": "without a CPU", "exit": "exit to the hypervisor", "idle": "sleeps"}
STYLE = """<style>
text { font: 13px sans-serif; fill: #222; } .small { font-size: 11px; } .title { font-weight: bold; }
.back { fill: #fff; } .line { stroke: #222; } .first { fill: #9a9fb5; } .second { fill: #4051b5; } .third { fill: #2e8b7a; } .fourth { fill: #b5762e; }
.work { fill: #7fb3a6; } .wait { fill: #e08a7d; } .gone { fill: none; stroke: #888; stroke-dasharray: 4 3; } .exit { fill: #b03a5b; } .idle { fill: #d5d8e3; }
@media (prefers-color-scheme: dark) {
text { fill: #e4e6ee; } .back { fill: #1e2129; } .line { stroke: #e4e6ee; } .first { fill: #777d96; } .second { fill: #8c9bff; } .third { fill: #5cc3af; } .fourth { fill: #e0a45c; }
.work { fill: #2f6f61; } .wait { fill: #94483c; } .gone { stroke: #aaa; } .exit { fill: #d0567b; } .idle { fill: #444a5c; } }
</style>"""


def text(x, y, what, kind=""):
    return f'<text x="{x:.1f}" y="{y}" class="{kind}">{html.escape(what)}</text>'


def box(x, y, width, height, kind):
    return f'<rect x="{x:.1f}" y="{y}" width="{max(width, 1):.1f}" height="{height}" class="{kind}"/>'


def number(value):
    return f"{value:,}"


def broken(words, limit):
    """Yields lines of at most `limit` characters."""
    line = ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > limit:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def framed(title, parts, height, described):
    """Returns the SVG text; its title and description are the text alternative."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">',
        f"<title>{html.escape(title)}</title>", f"<desc>{html.escape(described)}</desc>", STYLE,
        f'<rect width="{WIDTH}" height="{height}" class="back"/>', *parts, "</svg>", ""])


def heading(title):
    """Returns the title in lines, and the position below it."""
    lines = list(broken(title, 44))
    return [text(EDGE, 18 + 17 * i, line, "title") for i, line in enumerate(lines)], 12 + 17 * len(lines)


def interval(x, y, low, high, scale):
    yield f'<path class="line" fill="none" d="M{x + low * scale:.1f} {y}v6m0 -3H{x + high * scale:.1f}m0 -3v6"/>'


def relative(row):
    before, after = map(float, row["values"])
    if before <= 0 or after <= 0:
        raise ValueError("needs values above 0")
    return 100 * (before / after if row.get("more_is_better") else after / before)


def described(figures):
    return "; ".join(f"{row['name']}: " + ", ".join(
        f"{name} {number(value)} {row.get('unit', figures.get('unit', ''))}".strip()
        for name, value in zip(figures["series"], row["values"], strict=True)) for row in figures["rows"])


def chart(figures):
    """Returns the SVG text. Raises KeyError or ValueError if FIGURES has not the form above."""
    rows, series = figures["rows"], figures["series"]
    is_relative = figures.get("relative", False)
    shares = [[relative(row)] if is_relative else [float(v) for v in row["values"]] for row in rows]
    top = max([100.0 if is_relative else 0.0] + [v for values in shares for v in values]
              + [float(v) for row in rows for v in row.get("high", ())])
    if not rows or top <= 0 or any(v < 0 for values in shares for v in values):
        raise ValueError("needs rows, no value below 0, and one above")
    scale = (WIDTH - 2 * EDGE - 70) / top
    title = figures["title"] + ("" if is_relative else f", {figures['unit']}")
    parts, y = heading(title)
    if not is_relative:
        x = EDGE
        for kind, name in zip(SERIES, series, strict=False):
            parts += [box(x, y + 4, 10, 10, kind), text(x + 14, y + 13, name, "small")]
            x += 26 + CHARACTER * len(name)
        y += 20
    whole = 100 * scale  # in a relative chart, the length of the first
    for row, values in zip(rows, shares, strict=True):
        told = "" if not is_relative else " → ".join(map(number, row["values"])) + f" {row['unit']}"
        parts.append(text(EDGE, y + 14, row["name"]))
        if told:
            parts.append(f'<text x="{WIDTH - EDGE}" y="{y + 14}" class="small" text-anchor="end">{html.escape(told)}</text>')
        y += NAME
        for at, value in enumerate(values):
            parts.append(box(EDGE, y, value * scale, BAR - 3, SERIES[1 if is_relative else at]))
            right = value
            if "low" in row:
                parts += interval(EDGE, y + 4, row["low"][at], row["high"][at], scale)
                right = max(value, row["high"][at])
            said, end = f"{value:.3g} %" if is_relative else number(row["values"][at]), right * scale
            if is_relative:
                # Beside the bars only, not through the words, which move beyond it.
                parts.append(f'<path class="line" stroke-dasharray="3 3" d="M{EDGE + whole:.1f} {y - 2}v{BAR + 1}"/>')
                end = whole if end < whole < end + 8 + CHARACTER * len(said) else end
            parts.append(text(EDGE + end + 5, y + 11, said, "small"))
            y += BAR
        y += 4
    if is_relative:
        parts.append(text(EDGE, y + 12, f"dashed: as long as {series[0]}; shorter is better", "small"))
        y += 16
    commit = figures.get("commit")
    for line in broken(figures["command"] + (f", commit {commit[:10]}" if commit else ""), 62):
        parts.append(text(EDGE, y + 12, line, "small"))
        y += 14
    return framed(title, parts, y + 8, described(figures))


def timeline(picture):
    """Returns the SVG text. Raises KeyError or ValueError if PICTURE has not the form above."""
    parts, y = heading(picture["title"])
    longest = max(sum(span[1] for span in lane["spans"]) for lane in picture["lanes"])
    scale, told = (WIDTH - 2 * EDGE) / longest, []
    for lane in picture["lanes"]:
        parts.append(text(EDGE, y + 14, lane["name"], "small"))
        y, x = y + NAME, EDGE
        for kind, length, what in lane["spans"]:
            if kind not in KINDS:
                raise ValueError(f"{kind} is not one of {', '.join(KINDS)}")
            parts.append(box(x, y, length * scale - 1, 26, kind))
            if what:
                parts.append(text(x + 3, y + 17, what, "small"))
            x += length * scale
        told.append(f"{lane['name']}: " + ", ".join(what or KINDS[kind] for kind, _, what in lane["spans"]))
        y += 32
    x = EDGE
    for kind in [k for k in KINDS if any(span[0] == k for lane in picture["lanes"] for span in lane["spans"])]:
        parts += [box(x, y + 4, 10, 10, kind), text(x + 14, y + 13, KINDS[kind], "small")]
        x += 24 + 6 * len(KINDS[kind])
    parts.append(text(WIDTH - EDGE - 40, y + 13, "time →", "small"))
    return framed(picture["title"], parts, y + 24, "; ".join(told))
