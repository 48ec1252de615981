# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows the calls of a program from unit to unit, and finds arrays that one thread fills for all.

As the check serial-init does within a unit (FirstWriter.cpp): each function that no other
calls is a start. The first write decides where the pages of an array lie.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Fact = dict[str, Any]
# Maximum depth of calls, and of events that are followed from one start: as in the check.
DEEPEST, MOST_EVENTS = 8, 100_000
ALL, CALLERS = "all", "callers"


@dataclass(frozen=True)
class Use:
    file: str
    offset: int
    name: str


@dataclass(frozen=True)
class _Serial:
    fill: str
    function: str


class Arrays:
    """What the functions of all units do to arrays, in the order of the source."""

    def __init__(self) -> None:
        self._functions: dict[str, list[Fact]] = {}
        self._placed: set[str] = set()

    def add(self, unit: str, fact: Fact) -> None:
        def of_unit(name: Any) -> str | None:
            if not isinstance(name, str) or not name:
                return None
            return f"{name} {unit}" if name.startswith("static:") else name

        if placed := of_unit(fact.get("placed")):
            self._placed.add(placed)
        name, events = of_unit(fact.get("function")), fact.get("events")
        if not name or not isinstance(events, list):
            return
        told = []
        for event in events:
            if isinstance(event, dict) and (of := of_unit(event.get("of"))):
                passed = event.get("with")
                told.append({**event, "of": of,
                             "with": [of_unit(a) for a in passed] if isinstance(passed, list) else []})
        self._functions.setdefault(name, told)

    def serial_fills(self) -> dict[str, Use]:
        """Returns `PLACE NAME` of loops that fill arrays serially, each with a use by threads in another function."""
        if not any(e.get("by") == ALL for events in self._functions.values() for e in events):
            return {}
        found = self._new_blocks()
        called = {e["of"] for name, events in self._functions.items()
                  for e in events if e.get("do") == "call" and e["of"] != name}
        for name in self._functions:
            if name not in called:
                for fill, use in _Run(self._functions, self._placed).fills(name):
                    found.setdefault(fill, use)
        return found

    def _new_blocks(self) -> dict[str, Use]:
        """Returns the fills of new blocks by their own functions: any use by threads of another comes later."""
        uses: dict[str, tuple[str, Use]] = {}
        in_teams, waiting = set[str](), list[str]()
        for name, events in self._functions.items():
            for event in events:
                if event.get("by") == ALL and event.get("do") == "call":
                    waiting.append(event["of"])
                elif event.get("by") == ALL and not event.get("reused") and _is_of_program(event["of"]):
                    uses.setdefault(event["of"], (name, _use(event)))
        while waiting:
            if (name := waiting.pop()) not in in_teams:
                in_teams.add(name)
                waiting += [e["of"] for e in self._functions.get(name, ()) if e.get("do") == "call"]
        found = {}
        for name, events in self._functions.items():
            written = set[str]()
            for event in events if name not in in_teams else ():
                of, fill = event["of"], _filled(event)
                if event.get("do") == "call":
                    written.update(e["of"] for e in self._functions.get(of, ()) if e.get("do") == "write")
                    if of not in self._functions:
                        written.update(a for a in event["with"] if a)
                elif of not in written:
                    written.add(of)
                    used = uses.get(of)
                    if used and used[0] != name and event.get("new") and fill \
                            and of not in self._placed:
                        found[fill] = used[1]
        return found


def _is_of_program(name: str) -> bool:
    """Returns True for a variable or field that all functions know by this name: not a parameter or a local."""
    return "@" not in name and not name.startswith("#")


def _filled(event: Fact) -> str | None:
    """Returns what a loop fills, as the conditions of findings name it; None if it fills nothing."""
    fill = event.get("fill")
    return f"{fill} {event.get('name')}" if isinstance(fill, str) else None


def _use(event: Fact) -> Use:
    offset = event.get("offset")
    return Use(str(event.get("file")), offset if isinstance(offset, int) else 0, str(event.get("name")))


class _Run:
    """Follows the calls of one start."""

    def __init__(self, functions: dict[str, list[Fact]], placed: set[str]) -> None:
        self._functions, self._placed = functions, placed
        self._states: dict[str, _Serial | None] = {}  # None: it is decided who writes first
        self._stack: list[str] = []
        self._left = MOST_EVENTS

    def fills(self, name: str) -> Iterator[tuple[str, Use]]:
        return self._call(name, CALLERS, {})

    def _call(self, name: str, around: str, bound: dict[str, str | None]) -> Iterator[tuple[str, Use]]:
        if len(self._stack) > DEEPEST or name in self._stack:
            return
        self._stack.append(name)
        for event in self._functions.get(name, ()):
            if not self._left:
                break
            self._left -= 1
            by = around if event.get("by") == CALLERS else str(event.get("by"))
            if event.get("do") == "call":
                passed = [bound.get(a, a) if a is not None else None for a in event["with"]]
                if event["of"] in self._functions:
                    yield from self._call(event["of"], by, {f"#{i}": a for i, a in enumerate(passed)})
                else:
                    # A function that no unit defines may write it first.
                    for array in passed:
                        if array is not None:
                            self._states.setdefault(array, None)
                continue
            array = bound.get(event["of"], event["of"])
            if array is not None and array not in self._placed:
                yield from self._access(name, array, event, by)
        self._stack.pop()

    def _access(self, name: str, array: str, event: Fact, by: str) -> Iterator[tuple[str, Use]]:
        fill = _filled(event)
        if by != ALL:
            if fill and array not in self._states:
                self._states[array] = _Serial(fill, name)
            return
        serial = self._states.get(array)
        if serial and event.get("reused"):
            return  # another use may still show that the array is large
        self._states[array] = None
        if serial and serial.function != name:
            yield serial.fill, _use(event)
