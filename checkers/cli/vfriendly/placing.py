# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Follows the calls of a program from unit to unit, and finds arrays that one thread fills for all.

As the check serial-init does within a unit (FirstWriter.cpp): each function that no other
calls is a start. The first write decides where the pages of an array lie.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vfriendly import sharing

Fact = dict[str, Any]
# Maximum depth of calls, and of events that are followed from one start: as in the check.
DEEPEST, MOST_EVENTS = 8, 100_000
ALL, CALLERS = "all", "callers"
# A name that only its own unit knows, and what follows it: `()` or `[]`.
_STATIC = re.compile(r"(&?static:[^\[(]*)(.*)")


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
        self._flows: dict[str, list[sharing.Flow]] = {}
        self._placed: set[str] = set()

    def add(self, unit: str, fact: Fact) -> None:
        def of_unit(name: Any) -> str | None:
            if not isinstance(name, str) or not name:
                return None
            found = _STATIC.match(name)
            return f"{found[1]} {unit}{found[2]}" if found else name

        def all_of_unit(names: Any) -> list[str | None]:
            return [of_unit(n) for n in names] if isinstance(names, list) else []

        if placed := of_unit(fact.get("placed")):
            self._placed.add(placed)
        name, events = of_unit(fact.get("function")), fact.get("events")
        if not name or not isinstance(events, list) or name in self._functions:
            return
        told = []
        for event in events:
            if isinstance(event, dict):
                event = {**event, "with": all_of_unit(event.get("with"))}
                for key in ("of", "through"):
                    if key in event:
                        event[key] = of_unit(event[key])
                if "by-name" in event:
                    own, is_call = event.pop("by-name"), event.get("do") == "call"
                    if isinstance(own, list) == is_call:
                        event["by-name"] = all_of_unit(own) if is_call else of_unit(own)
                told.append(event)
        self._functions[name] = told
        flows = fact.get("flows")
        pairs = [all_of_unit(pair) for pair in flows] if isinstance(flows, list) else []
        self._flows[name] = [(p[0], p[1]) for p in pairs if len(p) == 2 and p[0] and p[1]]

    def serial_fills(self) -> dict[str, Use]:
        """Returns `PLACE NAME` of loops that fill arrays serially, each with a use by threads in another function."""
        if not any(e.get("by") == ALL for events in self._functions.values() for e in events):
            return {}
        found: dict[str, Use] = {}
        functions = {name: sharing.Function(events, self._flows[name]) for name, events in self._functions.items()}
        for fill, use in sharing.serial_fills(functions, {p for p in self._placed if not sharing.is_own(p)}):
            found.setdefault(_filled(fill) or "", _use(use))
        called = {e.get("of") for name, events in self._functions.items()
                  for e in events if e.get("do") == "call" and e.get("of") != name}
        for name in self._functions:
            if name not in called:
                for filled, by in _Run(self._functions, self._placed).fills(name):
                    found.setdefault(filled, by)
        return found


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
            if not event.get("of"):
                continue
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
