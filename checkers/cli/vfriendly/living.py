# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which objects, that one function takes and another ends, live for one item of work.

The facts are those of checkers/heap-churn/Lifetimes.h. An object lives for one item if a function uses it and then
ends it, again and again: a consumer. Or if a function that is called again and again calls, directly or by others, both
who takes it and who ends a list of such objects, or a field.
"""

import functools
from collections.abc import Mapping, Set
from typing import Any

from vfriendly import calling

# Maximum number of objects, each in the next, that end with an object.
MOST_OWNERS = 2
# Maximum number of functions between a loop and one that uses an object and ends it.
MOST_BETWEEN = 1
At = tuple[str, int]


class Objects:
    """What is ended where, in all units."""

    def __init__(self, callers: calling.Callers, working: Set[str]) -> None:
        self._callers = callers
        self._working = working  # functions that loops call, not only to end what a list holds
        self._used: dict[str, list[tuple[str, At, bool]]] = {}
        self._listed: dict[str, dict[str, At]] = {}
        self._owners: dict[str, set[str]] = {}

    def add(self, unit: str, fact: dict[str, Any]) -> None:
        key, how = fact["ends"], fact.get("how")
        function, offset = calling.of_unit(str(fact.get("function")), unit), fact.get("offset")
        at = str(fact.get("file")), offset if type(offset) is int and offset >= 0 else 0
        if how == "used":
            self._used.setdefault(key, []).append((function, at, bool(fact.get("repeats"))))
        elif how == "listed":
            self._listed.setdefault(key, {}).setdefault(function, at)
        elif how == "with":
            self._owners.setdefault(key, set()).add(str(fact.get("owner")))

    @functools.cached_property
    def _looped(self) -> Mapping[str, calling.Looped]:
        """Of all units: it is asked when these have been added."""
        return self._callers.looped(self._working, ending=True)

    def ended(self, taker: str, key: str) -> At | None:
        """Returns where objects that `taker` takes are ended soon; None if that is not known."""
        keys = {key}
        for _ in range(MOST_OWNERS):
            keys |= {owner for each in keys for owner in self._owners.get(each, ())}
        for each in sorted(keys):
            for function, at, repeats in sorted(self._used.get(each, ())):
                looped = self._looped.get(function)
                if repeats or (looped and looped.between <= MOST_BETWEEN):
                    return at
        enders = {function: at for each in sorted(keys) for function, at in self._listed.get(each, {}).items()}
        for above in sorted(self._callers.around(taker)):
            if above in self._looped:
                found = [enders[f] for f in sorted(self._callers.below(above)) if f in enders and f != taker]
                if found:
                    return found[0]
        return None
