# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The places that the runtime and the preloaded libraries count themselves, with VF_STATS, as stacks of a profile."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from vfriendly import counters, temporary
from vfriendly.errors import Refused
from vfriendly.measuring.profile import Stack
from vfriendly.measuring.symbols import Symbols


class Sites:
    """A file for the counters of a command and its children, or the one that the user has named."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._named = environment.get("VF_STATS", "")
        self._folder = None if "/" in self._named else temporary.folder("vfriendly-sites-")
        self._path = os.path.join(self._folder.name, "stats") if self._folder else self._named

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        return {**given, "VF_STATS": self._path}

    def stacks(self, symbols: Symbols) -> list[Stack]:
        """Returns a stack for each place; [] if no library of the runtime has waited."""
        if "%p" in self._path or not os.path.exists(self._path):
            return []  # Files for each process are not put together.
        try:
            return stacks(counters.read(self._path), symbols)
        except Refused:
            return []


def stacks(objects: Iterable[Mapping[str, Any]], symbols: Symbols) -> list[Stack]:
    sums: dict[tuple[str, int], list[float]] = {}
    for value in objects:
        places = value.get(counters.library_of(value) or "", {}).get("sites", [])
        for place in places:
            found = counters.SITE.fullmatch(str(place.get("site", "")))
            if found:
                # A return address may be that of the next line.
                row = sums.setdefault((found["module"], int(found["offset"], 16) - 1), [0, 0])
                row[0] += place.get("contended", 0)
                row[1] += place.get("waited_ns", 0) / 1e9
    symbols.load(sums)
    return [Stack("site", "blocking", "", count, waited, 0.0, symbols.frames(*place))
            for place, (count, waited) in sums.items() if count]
