# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the units of a program tell about each other: the index that checks ask.

Each unit tells facts (checkers/common/ProgramFacts.h). From those of all units follow

  * the heap functions that a unit calls and another defines: such a unit is examined again,
    with what they do;
  * which findings hold that depend on other units: a loop calls a function that allocates
    (calling.py), another function ends what one takes (living.py), or what a loop fills is used by the
    threads of another function (placing.py).
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vfriendly import calling, living, placing
from vfriendly.findings import Diagnostic, Note

if TYPE_CHECKING:
    from vfriendly.database import Unit
    from vfriendly.unit import Outcome

Fact = dict[str, Any]
# Begins the note of a diagnostic that holds only if another unit tells something.
IF = "vfriendly-if "
CALLED = "called in a loop here"
# Maximum number of times that a unit is examined again: wrappers of wrappers of other units.
MOST_ROUNDS = 3
# Members of facts that are names or words.
_NAMES = ("heap", "asks", "loop", "calls", "function", "placed", "ends", "how", "owner", "into", "from", "if", "op",
          "file")
# What a record says of a heap function.
_PARTS = ("op", "pointer", "size", "count")


def facts(data: bytes) -> list[Fact]:
    """Returns the facts that a unit has told. A line that is none is left out."""
    found = []
    for line in data.splitlines():
        try:
            fact = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if is_fact(fact):
            found.append(fact)
    return found


def is_fact(fact: Any) -> bool:
    return isinstance(fact, dict) and all(isinstance(fact.get(k, ""), str) for k in _NAMES)


@dataclass(frozen=True)
class Place:
    file: str
    offset: int
    text: str


class Program:
    """The facts of all units that were examined."""

    def __init__(self, units: Iterable[tuple[str, Sequence[Fact]]]) -> None:
        self._heap: dict[str, str] = {}
        self._loops: dict[str, Place] = {}
        self._working = set[str]()  # those called in loops that do not only end what a list holds
        self._callers = calling.Callers()
        self._objects = living.Objects(self._callers, self._working)
        self._owners: dict[str, set[str]] = {}  # by what it depends on; "" if on nothing
        disagreed = set[str]()
        arrays = placing.Arrays()
        for unit, told in units:
            for fact in told:
                if name := fact.get("heap"):
                    does = _does(fact)
                    if self._heap.setdefault(name, does) != does:
                        disagreed.add(name)
                elif fact.get("ends"):
                    self._objects.add(unit, fact)
                elif "calls" in fact:
                    self._callers.add(unit, fact)
                elif name := fact.get("loop"):
                    name = calling.of_unit(name, unit)
                    if not fact.get("drain"):
                        self._working.add(name)
                    text = "passed on here, to be called again and again" if fact.get("passed") else CALLED
                    place = Place(str(fact.get("file")), _number(fact.get("offset")), text)
                    known = self._loops.get(name)
                    if known is None or _order(place) < _order(known):
                        self._loops[name] = place
                elif owner := _owner(fact):
                    self._owners.setdefault(owner[1], set()).add(owner[0])
                else:
                    arrays.add(unit, fact)
        for name in disagreed:
            del self._heap[name]
        self._does = self._closure()
        self._looped = self._callers.looped(self._loops)
        self._fills: dict[str, Place] = {}
        for fill, use in arrays.serial_fills().items():
            self._fills[fill] = Place(use.file, use.offset, f"threads use '{use.name}' here")

    def _closure(self) -> set[str]:
        """Returns the functions that fill or empty what a parameter leads to, as conditions name them."""
        done, waiting = set[str](), [""]
        while waiting:
            for name in self._owners.get(waiting.pop(), ()):
                if name not in done:
                    done.add(name)
                    waiting.append(name)
        return done

    def answers(self, told: Sequence[Fact]) -> tuple[str, ...]:
        """Returns the records of other units that a unit must know, sorted: those that it takes for something else."""
        found = set()
        for fact in told:
            name = fact.get("asks")
            does = self._heap.get(name) if name else None
            if does is not None and does != _does(fact):
                found.add(json.dumps({"heap": name, **json.loads(does)}, sort_keys=True))
        return tuple(sorted(found))

    def holds(self, condition: str, unit: str = "") -> tuple[bool, Place | None]:
        """Returns whether a unit fulfils the condition of a finding in `unit`, and where, if that helps a reader."""
        kind, _, name = condition.partition(" ")
        if kind == "near-loop":
            looped = self._looped.get(calling.of_unit(name, unit))
            return looped is not None, self._loops.get(looped.name) if looped else None
        if kind == "lives":
            function, _, key = name.partition(" ")
            at = self._objects.ended(calling.of_unit(function, unit), key)
            return at is not None, Place(*at, "released here") if at else None
        if kind in ("into", "from"):
            return condition in self._does, None
        place = {"loop": self._loops, "fill": self._fills}.get(kind, {}).get(name)
        return place is not None, place

    def resolve(self, found: Iterable[Diagnostic], unit: str = "") -> list[Diagnostic]:
        """Returns the diagnostics that hold, with a note that says where in place of the condition."""
        kept = []
        for d in found:
            asked = [n.text.removeprefix(IF) for n in d.notes if n.text.startswith(IF)]
            filled = [a.rpartition(" ")[2] for a in asked if a.startswith("fill ")]
            held = [a for a in asked if a.startswith("fill ") and self.holds(a)[0]]
            text = d.message
            if filled and held:  # One array that threads use is enough; the others are not named.
                names = [a.rpartition(" ")[2] for a in held]
                text = text.replace(_listed(filled), _listed(names), 1)
                if len(names) == 1:
                    text = text.replace("several use them", "several use it", 1)
                asked = [a for a in asked if not a.startswith("fill ")] + held[:1]
            conditions = [self.holds(a, unit) for a in asked]
            if all(holds for holds, _ in conditions):
                notes = [n for n in d.notes if not n.text.startswith(IF)]
                notes += [Note(place.file, place.offset, place.text) for _, place in conditions if place]
                kept.append(replace(d, message=text, notes=tuple(notes)))
        return kept


def _listed(names: Sequence[str]) -> str:
    """Returns `'a', 'b' and 'c'`, as the check serial-init lists what a loop fills."""
    quoted = [f"'{name}'" for name in names]
    return " and ".join(([", ".join(quoted[:-1])] if quoted[1:] else []) + quoted[-1:])


def _order(place: Place) -> tuple[bool, str, int]:
    """Loops come first: who calls what is passed on is not in sight."""
    return place.text != CALLED, place.file, place.offset


def _number(value: Any) -> int:
    return value if type(value) is int and value >= 0 else 0


def _owner(fact: Fact) -> tuple[str, str] | None:
    """Returns the name of a condition that holds, and that of one on which it depends, or an empty one."""
    for kind in ("into", "from"):
        if name := fact.get(kind):
            on = fact.get("if")
            return f"{kind} {name} {fact.get('parameter')}", f"{kind} {on} {fact.get('of')}" if on else ""
    return None


def _does(fact: Fact) -> str:
    return json.dumps({k: fact[k] for k in _PARTS if k in fact}, sort_keys=True)


Outcomes = list[tuple["Unit", "Outcome"]]


def complete(outcomes: Outcomes, others: Sequence["Outcome"],
             examine: Callable[[Sequence["Unit"]], Outcomes]) -> Outcomes:
    """Examines units again that other units concern, and keeps the findings that hold.

    others: of units of the program that are not reported about.
    """
    before = [("", o.facts) for o in others]
    program = Program([*((u.name, o.facts) for u, o in outcomes), *before])
    for _ in range(MOST_ROUNDS):
        again = [replace(u, known=known) for u, o in outcomes
                 if o.status == "ok" and (known := program.answers(o.facts)) and known != u.known]
        if not again:
            break
        done = {(u.file, u.arguments): (u, o) for u, o in examine(again) if o.status == "ok"}
        outcomes = [_later((u, o), done.get((u.file, u.arguments))) for u, o in outcomes]
        program = Program([*((u.name, o.facts) for u, o in outcomes), *before])
    for unit, outcome in outcomes:
        outcome.diagnostics = program.resolve(outcome.diagnostics, unit.name)
    return outcomes


def _later(first: tuple["Unit", "Outcome"], second: tuple["Unit", "Outcome"] | None) -> tuple["Unit", "Outcome"]:
    """Returns the second examination, with what the first asked: the second already knows the answers."""
    if second is None:
        return first
    unit, outcome = second
    outcome.facts = [f for f in outcome.facts if "asks" not in f] + [f for f in first[1].facts if "asks" in f]
    outcome.cached = outcome.cached and first[1].cached
    return unit, outcome


def without_conditions(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Returns the diagnostics that hold whatever other units tell."""
    return [d for d in found if not any(n.text.startswith(IF) for n in d.notes)]
