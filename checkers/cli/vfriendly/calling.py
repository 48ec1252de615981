# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions of a program a loop calls, directly or by functions between them.

main and functions whose names say that they run seldom pass nothing on.
"""

from collections.abc import Container
from typing import Any

# Maximum number of functions between a loop and one that it calls.
MOST_BETWEEN = 4
# Maximum number of calls from a function to one that takes or ends what lives during its call.
NEAR = 2


def of_unit(name: str, unit: str) -> str:
    """Returns the name by which the program knows a function that a unit names."""
    return f"{name} {unit}" if name.startswith("static:") else name


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
        if fact.get("seldom"):
            self._seldom.add(caller)
        if fact.get("items"):
            self._items.add(caller)
        if fact.get("teardown"):
            self._teardown.add(caller)
        for callee in callees if isinstance(callees, list) else ():
            if isinstance(callee, str) and callee != fact["calls"]:
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

    def looped(self, name: str, loops: Container[str], ending: bool = False, most: int = MOST_BETWEEN) -> str | None:
        """Returns this function or one above it that a loop calls; None if there is none.

        Also a function for each item of some work, by its name, that nobody in sight calls.

        ending: calls in functions that end what lived until then do not count.
        most: the maximum number of functions between the loop and this one.
        """
        seldom = self._seldom | self._teardown if ending else self._seldom
        if name in self._items and not self._callers.get(name):
            return name
        seen, level = {name}, [name]
        for _ in range(most + 1):
            above = list[str]()
            for each in level:
                if each in loops:
                    return each
                for caller in sorted(self._callers.get(each, set())):
                    if caller not in seen and caller not in seldom:
                        seen.add(caller)
                        above.append(caller)
            level = above
        return None
