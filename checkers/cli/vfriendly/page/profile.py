# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The profile's part of the report: the causes, places without a finding, a flame graph by cause."""

import os
from collections.abc import Iterable
from html import escape

from vfriendly.measuring.joining import Joined
from vfriendly.measuring.profile import CAUSES, Place, Stack
from vfriendly.measuring.symbols import Frame
from vfriendly.measuring.table import place_name, verdict

_ROW, _WIDTH = 18, 1000
# Boxes narrower than this, in thousandths of the width, cannot be seen.
_NARROWEST = 2
_CHARACTER = 7  # width of one, in the same unit
_DEEPEST = 24


def section(joined: Joined) -> str:
    profile = joined.profile
    cpu = profile.user_s + profile.system_s
    rows = "".join(
        f"<tr><td>{escape(cause)}</td><td>{s['cpu']:.2f} s</td><td>{s['cpu'] / cpu if cpu else 0:.1%}</td>"
        f"<td>{s['blocked']:.2f} s</td><td>{s['delay']:.2f} s</td></tr>"
        for cause in CAUSES for s in [profile.seconds_of(cause)])
    parts = [
        "<h2>Measured</h2>", f"<p>{escape(verdict(profile))}</p>",
        f'<p class="quiet">{escape(" ".join(profile.command))}: wall {profile.wall_s:.2f} s, '
        f"user {profile.user_s:.2f} s, system {profile.system_s:.2f} s, waiting for a CPU {profile.run_delay_s:.2f} s; "
        f"by {escape(profile.tier)}</p>",
        '<div class="wide"><table><tr><th>cause</th><th>CPU time</th><th>share</th><th>blocked</th>'
        f"<th>delay after wake-up</th></tr>{rows}</table></div>",
        flame_graph(profile.stacks), _hot(joined.hot, cpu),
    ]
    if profile.missing:
        parts.append("<p>Not seen:</p><ul>" + "".join(f"<li>{escape(m)}</li>" for m in profile.missing) + "</ul>")
    return "".join(parts)


def _hot(places: Iterable[Place], cpu: float) -> str:
    rows = [f'<li><span class="place">{escape(place_name(p))}</span>: {escape(p.cause)}, {p.cost:.2f} s '
            f"({p.cost / cpu:.1%})</li>" for p in places]
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
        if s.what in ("spin", "cpu", "kernel"):
            cause = s.cause if s.what != "cpu" else "work"
            root.add([cause, *[_name(f) for f in reversed(s.frames)][:_DEEPEST]], s.seconds)
    if not root.seconds:
        return ""
    boxes: list[str] = []
    depth = _draw(root, "all", 0.0, _WIDTH / root.seconds, 0, "all", boxes)
    height = (depth + 1) * _ROW
    return (f'<figure><figcaption>Time on CPUs by cause: {root.seconds:.2f} s</figcaption><div class="wide">'
            f'<svg class="flames" role="img" aria-label="flame graph" viewBox="0 0 {_WIDTH} {height}">'
            f"{''.join(boxes)}</svg></div></figure>")


def _draw(box: _Box, name: str, x: float, scale: float, depth: int, cause: str, out: list[str]) -> int:
    width = box.seconds * scale
    label = name if len(name) * _CHARACTER < width else name[:max(0, int(width / _CHARACTER) - 1)]
    kind = cause.replace(" ", "-")
    out.append(f'<g class="{escape(kind)}"><title>{escape(name)}: {box.seconds:.3f} s</title>'
               f'<rect x="{x:.1f}" y="{depth * _ROW}" width="{max(width - 0.5, 0.5):.1f}" height="{_ROW - 1}"/>'
               f'<text x="{x + 3:.1f}" y="{depth * _ROW + 13}">{escape(label)}</text></g>')
    deepest = depth
    for inner, child in sorted(box.inner.items()):
        if child.seconds * scale >= _NARROWEST:
            deepest = max(deepest, _draw(child, inner, x, scale, depth + 1, inner if depth == 0 else cause, out))
        x += child.seconds * scale
    return deepest
