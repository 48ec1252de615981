# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a profile for Perfetto (ui.perfetto.dev) and chrome://tracing, in the JSON of Chrome's trace events.

The time line is counters, of the CPUs that each cause takes. Where the time goes is a flame graph for each cause, as
slices below each other: its axis is not time but what is summed up from the program's start.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from vfriendly.measuring.profile import ON_CPU, PARTS, Profile, Stack, share
from vfriendly.measuring.symbols import Frame

# Tracks have numbers of processes and threads; these are of nothing that ran.
_TIMES, _FLAMES = 1, 2


def _name(frame: Frame) -> str:
    return frame.function or f"{frame.module}+{frame.offset:#x}"


def _track(process: int, thread: int | None, name: str) -> dict[str, Any]:
    what = "process_name" if thread is None else "thread_name"
    return {"ph": "M", "pid": process, "tid": thread or 0, "name": what, "args": {"name": name}}


def _times(profile: Profile) -> Iterator[dict[str, Any]]:
    part_s = profile.wall_s / PARTS
    for cause, seconds in sorted(profile.timeline.items()):
        # A counter keeps its value until the next one: the last ends the line.
        for part, value in enumerate([*seconds, 0.0]):
            yield {"ph": "C", "pid": _TIMES, "tid": 0, "ts": part * part_s * 1e6, "name": cause,
                   "args": {"CPUs": value / part_s if part_s else 0.0}}


def _flame(rows: Sequence[tuple[tuple[Frame, ...], float]], thread: int, begin: float,
           depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yields a slice for each function, with those that it calls below, the longest first; rows begin at the caller."""
    below: dict[str, list[tuple[tuple[Frame, ...], float]]] = {}
    for frames, seconds in rows:
        if len(frames) > depth:
            below.setdefault(_name(frames[depth]), []).append((frames, seconds))
    sums = {name: sum(seconds for _, seconds in inner) for name, inner in below.items()}
    for name in sorted(below, key=lambda n: (-sums[n], n)):
        first = below[name][0][0][depth]
        yield {"ph": "X", "pid": _FLAMES, "tid": thread, "ts": begin * 1e6, "dur": sums[name] * 1e6, "name": name,
               "args": {"file": f"{first.file}:{first.line}" if first.file else first.module}}
        yield from _flame(below[name], thread, begin, depth + 1)
        begin += sums[name]


def encode(profile: Profile) -> bytes:
    events: list[dict[str, Any]] = [_track(_TIMES, None, f"CPUs of {' '.join(profile.command)}, by cause"),
                                    _track(_FLAMES, None, "CPU time by cause and function, not in order of time")]
    events += _times(profile)
    by: dict[str, list[Stack]] = {}
    for s in profile.stacks:
        if s.what in ON_CPU and s.seconds > 0:
            by.setdefault(share(s), []).append(s)
    for thread, cause in enumerate(sorted(by), 1):
        events.append(_track(_FLAMES, thread, cause))
        events += _flame([(tuple(reversed(s.frames)), s.seconds) for s in by[cause]], thread, 0.0)
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}).encode()
