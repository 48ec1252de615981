# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds arrays that serial code of any unit fills and teams of any other use, in whatever order they are called.

A field, a global variable or a pointer stands for all arrays that it may lead to; which these are
follows from the values that pointers get, the arguments of calls, and what functions return
(checkers/numa-placement/ArrayFlows.h). Each function stands twice: as one thread calls it, and as a
team does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Fact = dict[str, Any]
Flow = tuple[str, str]
ALL, ONE, CALLERS = "all", "one", "callers"
# Maximum number of names that lead to one array (20,000 functions that pass one on take 2 s and 0.4 GB with it, 11 s
# and 1.7 GB with 2,000), and of tables of pointers on the way.
MOST_NAMES, MOST_ROWS = 300, 3
# Maximum number of functions that pass pointers to functions on.
MOST_ROUNDS = 3
ROW, ADDRESS = "[]", "&"


@dataclass(frozen=True)
class Function:
    """What a function does, in the order of the source, and which names lead to which arrays in it."""

    events: Sequence[Fact]
    flows: Sequence[Flow]


@dataclass(frozen=True)
class Access:
    """A read or write of the elements of arrays."""

    function: str
    at: int  # among the events of the function
    event: Fact
    arrays: frozenset[str]


def is_own(name: str) -> bool:
    """Returns True for a parameter or local variable: other functions do not know it by this name."""
    return name.startswith("#") or "@" in name


def own_name(event: Fact) -> str | None:
    """Returns the name by which an event reaches its array; None if it has none."""
    name = event.get("by-name", event.get("of"))
    return name if isinstance(name, str) and name else None


class Program:
    """The functions of all units, by name."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions
        self._sources: dict[str, set[str]] = {}
        self._reached: dict[tuple[str, str], None] = {}
        self._through: list[tuple[str, str, Fact]] = []
        self._has_grown = False
        self._known: dict[str, frozenset[str]] = {}
        self._teams = self._having_teams()
        called = {e.get("of") for name, f in functions.items() for e in f.events
                  if e.get("do") == "call" and e.get("of") != name}
        passed = {n[len(ADDRESS):] for f in functions.values() for n in _mentioned(f) if n and n.startswith(ADDRESS)}
        self._reach((name, ONE) for name in functions if name not in called and name not in passed)
        for _ in range(MOST_ROUNDS):
            if not self._follow_pointers():
                break
        # What calls these is not known.
        self._reach((name, ONE) for name in sorted(passed) if not {(name, ONE), (name, ALL)} & self._reached.keys())

    def accesses(self, team: bool) -> Iterator[Access]:
        """Yields the reads and writes by teams, or those by one thread."""
        for name, context in self._reached:
            for at, event in enumerate(self._functions[name].events):
                own = own_name(event)
                if event.get("do") != "call" and own and (_by(event, context) == ALL) == team:
                    yield Access(name, at, event, self._arrays(_node(own, name, context)))

    def is_for_itself(self, fill: Access) -> bool:
        """Returns True if the function of a fill uses the array itself next, before it calls a team or passes it on."""
        own = own_name(fill.event)
        for event in self._functions[fill.function].events[fill.at + 1:]:
            if event.get("do") == "call":
                if not event.get("of") or event["of"] in self._teams or own in _passed(event):
                    return False
            elif own_name(event) == own and (event.get("do") == "read" or event.get("update")):
                return event.get("by") != ALL
        return False

    def _having_teams(self) -> set[str]:
        """Returns the functions that use a team, also in functions that they call."""
        callers: dict[str, set[str]] = {}
        waiting = []
        for name, function in self._functions.items():
            if any(e.get("by") == ALL or "through" in e for e in function.events):
                waiting.append(name)
            for event in function.events:
                if event.get("do") == "call" and event.get("of"):
                    callers.setdefault(event["of"], set()).add(name)
        found = set[str]()
        while waiting:
            if (name := waiting.pop()) not in found:
                found.add(name)
                waiting += callers.get(name, ())
        return found

    def _reach(self, functions: Iterable[tuple[str, str]]) -> None:
        waiting = list(functions)
        while waiting:
            name, context = waiting.pop()
            if (name, context) in self._reached or name not in self._functions:
                continue
            self._reached[name, context] = None
            function = self._functions[name]
            for to, source in function.flows:
                self._add(_node(to, name, context), _node(source, name, context))
            for event in function.events:
                if event.get("do") != "call":
                    continue
                if callee := event.get("of"):
                    waiting.append(self._pass(name, context, event, callee))
                elif event.get("through"):
                    self._through.append((name, context, event))

    def _pass(self, name: str, context: str, event: Fact, callee: str) -> tuple[str, str]:
        """Binds the parameters of a callee to what a call passes."""
        by = _by(event, context)
        for i, argument in enumerate(_passed(event)):
            if argument:
                self._add(_node(f"#{i}", callee, by), _node(argument, name, context))
        return callee, by

    def _follow_pointers(self) -> bool:
        """Follows the calls through pointers to functions. Returns False if that tells nothing new."""
        self._known.clear()
        self._has_grown = False
        for name, context, event in list(self._through):
            for target in self._arrays(_node(event["through"], name, context)):
                if target.startswith(ADDRESS) and target[len(ADDRESS):] in self._functions:
                    self._reach([self._pass(name, context, event, target[len(ADDRESS):])])
        self._known.clear()
        return self._has_grown

    def _add(self, to: str, source: str) -> None:
        if to != source and source not in (known := self._sources.setdefault(to, set())):
            known.add(source)
            self._has_grown = True

    def _before(self, name: str) -> set[str]:
        """Returns the names whose arrays `name` may be given: a row comes from a table that its table is given."""
        found = set(self._sources.get(name, ()))
        table = name
        for rows in range(1, MOST_ROWS + 1):
            if not table.endswith(ROW):
                break
            table = table[:-len(ROW)]
            found |= {f"{t}{ROW * rows}" for t in self._sources.get(table, ()) if t.count(ROW) + rows <= MOST_ROWS}
        return found

    def _arrays(self, name: str) -> frozenset[str]:
        """Returns all names from which `name` may have its array, with itself.

        Names that lead to each other share one set: Tarjan's strongly connected components.
        """
        if (known := self._known.get(name)) is not None:
            return known
        lowest = {name: 0}  # of those that are not in self._known yet: the first that they lead to
        before = {name: sorted(self._before(name))}
        path, members = [(name, 0, 0, iter(before[name]))], [name]
        while path:
            each, at, first, sources = path[-1]
            for source in sources:
                if source in self._known:
                    continue
                if source in lowest:
                    lowest[each] = min(lowest[each], lowest[source])
                    continue
                lowest[source] = len(before)
                before[source] = sorted(self._before(source))
                path.append((source, lowest[source], len(members), iter(before[source])))
                members.append(source)
                break
            else:
                path.pop()
                if path:  # What leads to this leads to all that it leads to.
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[each])
                if lowest[each] == at:
                    self._finish(sorted(members[first:]), before)
                    del members[first:]
        return self._known[name]

    def _finish(self, members: Sequence[str], before: Mapping[str, Sequence[str]]) -> None:
        """Gives names that lead to each other their set, after all others that they lead to."""
        own, others = frozenset(members[:MOST_NAMES]), set[str]()
        for each in dict.fromkeys(self._known[s] for m in members for s in before[m] if s in self._known):
            if len(own) + len(others) >= MOST_NAMES:
                break
            others |= each
        most = MOST_NAMES - len(own)
        arrays = own | (others if len(others) <= most else set(sorted(others - own)[:most]))
        self._known.update(dict.fromkeys(members, arrays))


def _passed(event: Fact) -> Sequence[str | None]:
    """Returns the names of what a call passes."""
    passed: Sequence[str | None] = event["by-name"] if "by-name" in event else event["with"]
    return passed


def _mentioned(function: Function) -> Iterator[str | None]:
    """Yields the names that a function passes or assigns."""
    for _, source in function.flows:
        yield source
    for event in function.events:
        if event.get("do") == "call":
            yield from _passed(event)


def _by(event: Fact, context: str) -> str:
    """Returns which threads do what an event of a function says that has been called in a context."""
    by = event.get("by")
    return context if by == CALLERS else ALL if by == ALL else ONE


def _node(name: str, function: str, context: str) -> str:
    """Returns a name that is different for each function and context, unless all functions know it by its own."""
    return f"{context} {function} {name}" if is_own(name) else name


def serial_fills(functions: Mapping[str, Function], placed: set[str]) -> Iterator[tuple[Fact, Fact]]:
    """Yields the serial writes that are the first of their arrays, each with a use by a team."""
    program = Program(functions)
    uses: dict[str, list[Access]] = {}
    first_by_team = set(placed)
    for access in program.accesses(team=True):
        if access.event.get("new"):
            first_by_team |= access.arrays
        if not access.event.get("reused"):
            for array in access.arrays:
                uses.setdefault(array, []).append(access)
    for fill in program.accesses(team=False):
        if not fill.event.get("fill") or fill.event.get("update") or _is_written_before(functions, fill) \
                or program.is_for_itself(fill):
            continue
        use = next((u for array in sorted(fill.arrays - first_by_team) for u in uses.get(array, ())
                    if u.function != fill.function or u.at > fill.at), None)
        if use:
            yield fill.event, use.event


def _is_written_before(functions: Mapping[str, Function], fill: Access) -> bool:
    own = own_name(fill.event)
    return any(e.get("do") == "write" and own_name(e) == own for e in functions[fill.function].events[:fill.at])
