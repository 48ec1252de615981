# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions of a program a loop calls, directly or by functions between them.

main and functions whose names say that they run seldom pass nothing on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Maximum number of functions between a loop and one that it calls.
MOST_BETWEEN = 4
# Maximum number of calls from a function to one that takes or ends what lives during its call.
NEAR = 2


def of_unit(name: str, unit: str) -> str:
    """Returns the name by which the program knows a function that a unit names."""
    return f"{name} {unit}" if name.startswith("static:") else name


@dataclass(frozen=True)
class Looped:
    """A function that is called again and again."""

    between: int  # the number of functions between it and the loop
    name: str  # of the one that the loop calls


class Callers:
    """Who calls which function, in all units."""

    def __init__(self) -> None:
        self._callers: dict[str, set[str]] = {}
        self._callees: dict[str, set[str]] = {}
        self._seldom = set[str]()
        self._teardown = set[str]()
        self._items = set[str]()  # functions that others may call for each item

    def add(self, unit: str, fact: dict[str, Any]) -> None:
        caller, callees = of_unit(fact["calls"], unit), fact.get("to")
        if not caller:
            return  # Functions without a name are not all one.
        if fact.get("seldom"):
            self._seldom.add(caller)
        if fact.get("items"):
            self._items.add(caller)
        if fact.get("teardown"):
            self._teardown.add(caller)
        for callee in callees if isinstance(callees, list) else ():
            if isinstance(callee, str) and callee and callee != fact["calls"]:
                self._callers.setdefault(of_unit(callee, unit), set()).add(caller)
                self._callees.setdefault(caller, set()).add(of_unit(callee, unit))

    def around(self, name: str) -> set[str]:
        """Returns this function and those that call it, directly or by one between them, often."""
        return self._near(name, self._callers, self._seldom | self._teardown)

    def below(self, name: str) -> set[str]:
        """Returns this function and those that it calls, directly or by one between them."""
        return self._near(name, self._callees, self._seldom)

    @staticmethod
    def _near(name: str, to: dict[str, set[str]], but: set[str]) -> set[str]:
        found = {name}
        for _ in range(NEAR):
            found |= {each for one in found for each in to.get(one, ()) if each not in but}
        return found

    def looped(self, loops: Iterable[str], ending: bool = False) -> dict[str, Looped]:
        """Returns the functions that loops call, directly or by at most MOST_BETWEEN between them.

        Also functions for each item of some work, by their names, that nobody in sight calls.

        ending: calls in functions that end what lived until then do not count.
        """
        seldom = self._seldom | self._teardown if ending else self._seldom
        found = {name: Looped(0, name) for name in loops}
        level = sorted(found)
        for between in range(1, MOST_BETWEEN + 1):
            below = dict[str, Looped]()
            for caller in level:
                for callee in self._callees.get(caller, ()) if caller not in seldom else ():
                    if callee not in found:
                        below.setdefault(callee, Looped(between, found[caller].name))
            found.update(below)
            level = sorted(below)
        found.update({name: Looped(0, name) for name in self._items if not self._callers.get(name)})
        return found
