# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The counters of the runtime's libraries, as VF_STATS writes them: one JSON object a line.

An object has the counters under the name of its library, and `pid` and `program`. A counter is a
number, an object of numbers, or a list of places: objects with a `site`, MODULE+0xOFFSET.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vfriendly import regular
from vfriendly.errors import Refused

ABOUT = ("verdict", "pid", "program")
SITE = re.compile(r"(?P<module>.+)\+(?P<offset>0x[0-9a-f]+)")
SYMBOLIZERS = ("llvm-symbolizer-22", "llvm-symbolizer-19", "llvm-symbolizer")
SECONDS = 20  # maximum time to name one place
# What it means that a list of places is empty.
WHY_EMPTY = {"sites": "no lock, condition, semaphore or barrier of the runtime or the preload was used; "
                      "rewritten loops have no sites",
             "blind": "each wait that slept was one that a writer notifies"}
# Maximum number of places to list: those with the most time or waits.
MOST_PLACES = 20


def _whole(digits: str) -> int | None:
    """Returns a number that a counter of 64 bits can have; a longer one would have no quotient and no end."""
    return int(digits) if len(digits) <= len("-9223372036854775808") else None


def read(path: str) -> list[dict[str, Any]]:
    """Returns the objects of a file; other lines, such as the program's own, are skipped."""
    try:
        data = sys.stdin.buffer.read(regular.LARGEST) if path == "-" else regular.read(path)
    except OSError as error:
        why = error.strerror or str(error)
        if isinstance(error, FileNotFoundError):
            why += ": a program that has nothing to report does not write it"
        raise Refused(f"{path}: {why}") from None
    objects = []
    for line in data.decode("utf-8", "replace").split("\n"):
        try:
            value = json.loads(line, parse_int=_whole)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and library_of(value):
            objects.append(value)
    if not objects:
        raise Refused(f"{path}: no counters: run the program with VF_STATS=FILE")
    return objects


def library_of(value: Mapping[str, Any]) -> str | None:
    """Returns the name of the library that wrote the object."""
    names = [name for name, inner in value.items() if name not in ABOUT and isinstance(inner, dict) and
             all(isinstance(place, dict) for list_ in inner.values() if isinstance(list_, list) for place in list_)]
    return names[0] if len(names) == 1 else None


class Symbolizer:
    """Names the source line of an offset in a module."""

    def __init__(self) -> None:
        self.tool = next(filter(None, map(shutil.which, SYMBOLIZERS)), None)

    def line_of(self, site: str) -> str:
        """Returns FUNCTION at FILE:LINE, or the site itself where nothing is known of it."""
        match = SITE.fullmatch(site)
        if not match or not self.tool:
            return site
        try:
            done = subprocess.run([self.tool, "--output-style=JSON", "-e", match["module"], match["offset"]],
                                  capture_output=True, text=True, timeout=SECONDS, check=False)
            frame = json.loads(done.stdout)[0]["Symbol"][0]
        except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError):
            return site
        if frame.get("FileName"):
            return f"{frame.get('FunctionName') or '?'} at {frame['FileName']}:{frame['Line']}"
        if frame.get("FunctionName"):
            return f"{frame['FunctionName']} in {match['module']}"
        return site


def _number(name: str, value: float) -> str:
    return f"{value / 1e9:.3f} s" if name.endswith("_ns") else f"{value:,}"


def _weight(place: Mapping[str, Any]) -> tuple[float, float]:
    """Places that waited longest stand first; where no time is known, those that waited most often."""
    numbers = {name: value for name, value in place.items() if isinstance(value, int)}
    return sum(value for name, value in numbers.items() if name.endswith("_ns")), sum(numbers.values())


def _table(places: Sequence[Mapping[str, Any]], symbols: Symbolizer) -> Iterator[str]:
    ranked = sorted(places, key=_weight, reverse=True)
    shown = ranked[:MOST_PLACES]
    # Only counters with integer values get a column. Distributions are JSON objects and get none.
    columns = [name for name in dict.fromkeys(n for place in shown for n in place)
               if any(isinstance(place.get(name), int) and place[name] for place in shown)]
    heads = [name.removesuffix("_ns") for name in columns]
    rows = [[_number(name, n if isinstance(n := place.get(name), int) else 0) for name in columns]
            for place in shown]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    yield "    " + "  ".join(head.rjust(width) for head, width in zip(heads, widths, strict=True)) + "  place"
    for place, row in zip(shown, rows, strict=True):
        yield ("    " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) +
               f"  {symbols.line_of(str(place.get('site', '?')))}")
    if len(ranked) > len(shown):
        yield f"    and {len(ranked) - len(shown)} more places"


def render(objects: Sequence[Mapping[str, Any]], symbols: Symbolizer) -> Iterator[str]:
    """Yields the lines that describe the objects."""
    for number, value in enumerate(objects):
        library = library_of(value)
        assert library
        if number:
            yield ""
        yield f"{library} in {value.get('program', 'a program')}, process {value.get('pid', '?')}"
        if verdict := value.get("verdict"):
            yield f"  {verdict}"
        groups: list[tuple[str, Mapping[str, Any]]] = [("", value[library])]
        groups += [(f"{name}: ", inner) for name, inner in value[library].items() if isinstance(inner, dict)]
        for prefix, group in groups:
            numbers = [f"{name.removesuffix('_ns')} {_number(name, n)}" for name, n in group.items()
                       if isinstance(n, int) and n]
            if numbers or not prefix:
                yield f"  {prefix}{', '.join(numbers) or 'nothing counted'}"
        for name, places in value[library].items():
            if isinstance(places, list) and places:
                yield f"  {name}:"
                yield from _table(places, symbols)
            elif isinstance(places, list) and name in WHY_EMPTY:
                yield f"  {name}: none: {WHY_EMPTY[name]}"
