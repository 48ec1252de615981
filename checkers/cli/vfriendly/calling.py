# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions of a program a loop calls, directly or by a function between them.

main and functions whose names say that they run seldom pass nothing on.
"""

from collections.abc import Container
from typing import Any

# Maximum number of functions between a loop and one that it calls. On the fourth set of labels (test/rigs/corpus) more
# found nothing.
MOST_BETWEEN = 1


def of_unit(name: str, unit: str) -> str:
    """Returns the name by which the program knows a function that a unit names."""
    return f"{name} {unit}" if name.startswith("static:") else name


class Callers:
    """Who calls which function, in all units."""

    def __init__(self) -> None:
        self._callers: dict[str, set[str]] = {}
        self._seldom = set[str]()

    def add(self, unit: str, fact: dict[str, Any]) -> None:
        caller, callees = of_unit(fact["calls"], unit), fact.get("to")
        if fact.get("seldom"):
            self._seldom.add(caller)
        for callee in callees if isinstance(callees, list) else ():
            if isinstance(callee, str) and callee != fact["calls"]:
                self._callers.setdefault(of_unit(callee, unit), set()).add(caller)

    def looped(self, name: str, loops: Container[str]) -> str | None:
        """Returns this function or the one above it that a loop calls; None if there is none."""
        seen, level = {name}, [name]
        for _ in range(MOST_BETWEEN + 1):
            above = list[str]()
            for each in level:
                if each in loops:
                    return each
                for caller in sorted(self._callers.get(each, set())):
                    if caller not in seen and caller not in self._seldom:
                        seen.add(caller)
                        above.append(caller)
            level = above
        return None
