# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names the functions and lines of addresses, with inlined functions, by llvm-symbolizer."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from vfriendly.counters import SYMBOLIZERS

# Maximum time for all addresses of a measurement. Reading 2 GB of debug information takes half a minute.
SECONDS = 300


@dataclass(frozen=True)
class Frame:
    function: str
    file: str
    line: int
    module: str
    offset: int  # address in the module


class Symbols:
    def __init__(self) -> None:
        self.tool = next(filter(None, map(shutil.which, SYMBOLIZERS)), None)
        self._known: dict[tuple[str, int], tuple[Frame, ...]] = {}

    @property
    def missing(self) -> str:
        return "" if self.tool else "functions and lines: apt-get install llvm"

    def load(self, addresses: Iterable[tuple[str, int]]) -> None:
        """Looks up addresses (module, address in it), all at once: reading debug information takes long."""
        # A name that would end the quotes below is not asked for.
        wanted = sorted({(module, at) for module, at in addresses
                         if (module, at) not in self._known and not set('"\n\r') & set(module)})
        if not wanted or not self.tool:
            return
        # Quoted, as a module's name may have blanks.
        asked = "".join(f'CODE "{module}" {offset:#x}\n' for module, offset in wanted)
        try:
            done = subprocess.run([self.tool, "--output-style=JSON"], input=asked, capture_output=True, text=True,
                                  errors="replace", timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return  # files of the process are not what they were
        for (module, offset), line in zip(wanted, done.stdout.splitlines(), strict=False):
            try:
                symbols = json.loads(line).get("Symbol", [])
            except (ValueError, AttributeError):
                continue
            frames = tuple(Frame(s.get("FunctionName", ""), s.get("FileName", ""), s.get("Line", 0), module, offset)
                           for s in symbols)
            if frames and (frames[0].function or frames[0].file):
                self._known[module, offset] = frames

    def frames(self, module: str, offset: int) -> tuple[Frame, ...]:
        """Returns the function at the address and those that it was inlined into, the innermost first."""
        return self._known.get((module, offset)) or (Frame("", "", 0, module, offset),)
