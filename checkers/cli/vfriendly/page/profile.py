# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The profile's part of the report: the causes, places without a finding, a flame graph by cause."""

import os
from collections.abc import Iterable, Sequence

from vfriendly.escaping import html_text as escape
from vfriendly.measuring.joining import Joined
from vfriendly.measuring.profile import CAUSES, ON_CPU, Place, Profile, Stack, share
from vfriendly.measuring.symbols import Frame
from vfriendly.measuring.table import (
    cells,
    events,
    notable_places,
    overhead,
    percent,
    place_name,
    rows_by_cpu,
    seconds,
    times,
    verdict,
)

_ROW, _WIDTH = 18, 1000
# Boxes narrower than this, in per cent of the width, cannot be seen.
_NARROWEST = 0.2
_DEEPEST = 24
_PLACES = 10  # as many as vfriendly measure lists
# The time line's height, and the lowest bar that can be seen.
_TALL, _LOWEST = 160, 0.5


def section(joined: Joined) -> str:
    profile = joined.profile
    cpu = profile.user_s + profile.system_s
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in [cause, *cells(profile, cause)])}</tr>"
        for cause in CAUSES)
    parts = [
        "<h2>Measured</h2>", *(f"<p>{escape(line)}</p>" for line in verdict(profile)),
        f'<p class="quiet">{escape(" ".join(profile.command))}: {escape(times(profile))}; ',
        f"{escape(overhead(profile))}</p>",
        '<div class="wide"><table><tr><th>cause</th><th>CPU time</th><th>share</th><th>blocked</th>'
        f"<th>delay after wake-up</th></tr>{rows}</table></div>", _by_cpu(profile),
        time_line(profile), flame_graph(profile.stacks), _places(notable_places(profile), cpu), _hot(joined.hot, cpu),
    ]
    if profile.missing:
        parts.append("<p>Not seen:</p><ul>" + "".join(f"<li>{escape(m)}</li>" for m in profile.missing) + "</ul>")
    return "".join(parts)


def _by_cpu(profile: Profile) -> str:
    head, *rows = rows_by_cpu(profile)
    if not rows:
        return ""
    lines = [f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in row)}</tr>"
             for tag, row in (("th", head), *(("td", row) for row in rows))]
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _places(places: Sequence[Place], cpu: float) -> str:
    rows = []
    for p in places[:_PLACES]:
        counts = events(p)
        blocked = f"blocked for {seconds(p.blocked_s)}" if seconds(p.blocked_s) != "0" else ""
        words = [p.cause if p.cause not in counts else "", blocked, counts,
                 f"through {p.mostly_through}" if p.mostly_through else ""]
        cost = f"<b>{seconds(p.cost)}</b> ({percent(p.cost, cpu)}) " if seconds(p.cost) != "0" else ""
        rows.append(f'<li>{cost}<span class="place">{escape(place_name(p))}</span>: '
                    f"{escape('; '.join(filter(None, words)))}</li>")
    return f"<h3>Places, the most costly first</h3><ol>{''.join(rows)}</ol>" if rows else ""


def _hot(places: Iterable[Place], cpu: float) -> str:
    rows = [f'<li><span class="place">{escape(place_name(p))}</span>: {escape(p.cause)}, {seconds(p.cost)} '
            f"({percent(p.cost, cpu)})</li>" for p in places]
    return f"<h3>Hot places without a finding</h3><ul>{''.join(rows)}</ul>" if rows else ""


class _Box:
    def __init__(self) -> None:
        self.seconds = 0.0
        self.inner: dict[str, _Box] = {}

    def add(self, path: list[str], seconds: float) -> None:
        box = self
        for name in path:
            box.seconds += seconds
            box = box.inner.setdefault(name, _Box())
        box.seconds += seconds


def _name(frame: Frame) -> str:
    return frame.function or f"[{os.path.basename(frame.module)}]"


def flame_graph(stacks: Iterable[Stack]) -> str:
    """Time on CPUs, by cause and then by stack, outermost function first."""
    root = _Box()
    for s in stacks:
        if s.what in ON_CPU:
            root.add([share(s), *[_name(f) for f in reversed(s.frames)][:_DEEPEST]], s.seconds)
    if not root.seconds:
        return ""
    boxes: list[str] = []
    depth = _draw(root, "all", 0.0, 100 / root.seconds, 0, "all", boxes)
    return (f"<figure><figcaption>Time on CPUs by cause: {seconds(root.seconds)}</figcaption>"
            f'<svg class="flames" role="img" aria-label="flame graph" height="{(depth + 1) * _ROW}">'
            f"{''.join(boxes)}</svg></figure>")


def time_line(profile: Profile) -> str:
    """CPUs in use, by cause, over the wall time: one column for each part, work at the bottom."""
    parts = max(map(len, profile.timeline.values()), default=0)
    if not parts or profile.wall_s <= 0:
        return ""
    # Samples are rounded to a period, so a short part may have more time than the CPUs had.
    most = max(sum(row) for row in zip(*profile.timeline.values(), strict=True))
    full = max(profile.cpus * profile.wall_s / parts, most)
    width = _WIDTH / parts
    bars: list[str] = []
    tops = [float(_TALL)] * parts
    for name in ("work", *CAUSES):
        for part, used in enumerate(profile.timeline.get(name, ())):
            height = used / full * _TALL
            if height < _LOWEST:
                continue
            tops[part] -= height
            bars.append(f'<rect class="{escape(name.replace(" ", "-"))}" x="{part * width:.1f}" y="{tops[part]:.1f}" '
                        f'width="{width:.1f}" height="{height:.1f}"><title>{escape(name)}, from '
                        f"{part * profile.wall_s / parts:.2f} s: {used:.3f} s</title></rect>")
    names = "".join('<span><svg viewBox="0 0 10 10" aria-hidden="true">'
                    f'<rect class="{escape(n.replace(" ", "-"))}" width="10" height="10"/></svg>{escape(n)}</span>'
                    for n in ("work", *CAUSES) if n in profile.timeline)
    return (f"<figure><figcaption>CPUs in use over {seconds(profile.wall_s)}, of {profile.cpus}</figcaption>"
            f'<svg class="times" role="img" aria-label="time line" preserveAspectRatio="none" '
            f'viewBox="0 0 {_WIDTH} {_TALL}">{"".join(bars)}</svg><p class="times names">{names}</p></figure>')


def _draw(box: _Box, name: str, x: float, scale: float, depth: int, cause: str, out: list[str]) -> int:
    """Adds a box in per cent of the width, and those above it; returns the depth of the last one."""
    # Each box is a picture of its own, which cuts its text where it ends, however wide the page is.
    out.append(f'<svg class="{escape(cause.replace(" ", "-"))}" x="{x:.2f}%" y="{depth * _ROW}" '
               f'width="{box.seconds * scale:.2f}%" height="{_ROW}"><title>{escape(name)}: {box.seconds:.3f} s</title>'
               f'<rect width="100%" height="100%"/><text x="3" y="13">{escape(name)}</text></svg>')
    deepest = depth
    for inner, child in sorted(box.inner.items()):
        if child.seconds * scale >= _NARROWEST:
            deepest = max(deepest, _draw(child, inner, x, scale, depth + 1, inner if depth == 0 else cause, out))
        x += child.seconds * scale
    return deepest
