# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops that are proved to wait, by vf-spins: also those without optimization, of Go, and compiled at run time.

vf-spins samples threads by perf and emulates what they would execute next (runtime/spin-unmodified/prove.h), so it
needs neither the form of a loop nor a file with its code.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfriendly import programs
from vfriendly.errors import Refused

# One sampling takes a tenth of the time between two.
_SAMPLE_MS, _EVERY_S = 200, 2.0


@dataclass
class Proved:
    """What a profile keeps of the samples."""

    samples: float = 0  # of threads' time in user mode
    waits: float = 0  # of these, in loops that only other threads, a count or a time can end
    yields: float = 0  # of these, in loops that yield
    remedy: str = ""  # what reaches the program without rebuilding it

    @staticmethod
    def of(data: Mapping[str, Any] | None) -> "Proved | None":
        return Proved(**data) if data else None


def _tool() -> str | None:
    beside = Path(os.environ.get("VFRIENDLY_LIB", "/nowhere")).parent / "bin" / "vf-spins"
    return str(beside) if beside.is_file() else shutil.which("vf-spins")


def _remedy(process: int) -> str:
    try:
        return "tick" if programs.why_not_preloaded(programs.find([os.readlink(f"/proc/{process}/exe")])) else "spin"
    except (OSError, Refused):
        return "spin"


class Prover:
    def __init__(self) -> None:
        self._tool = _tool()
        self._run: subprocess.Popen[str] | None = None
        self._next = time.monotonic() + _SAMPLE_MS / 1000
        self._found = Proved()

    def look(self, family: Sequence[int]) -> None:
        """Takes a sampling that has ended, or begins one if that is due."""
        if self._run:
            if self._run.poll() is not None:
                self._take()
        elif self._tool and family and time.monotonic() >= self._next:
            self._next = time.monotonic() + _EVERY_S
            if not self._found.remedy:
                self._found.remedy = _remedy(family[-1])
            words = [self._tool, "--ms", str(_SAMPLE_MS), *map(str, family[:16])]
            self._run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def _take(self) -> None:
        run, self._run = self._run, None
        if not run:
            return
        text = run.communicate()[0]
        if run.returncode:
            if run.returncode == 3 and not self._found.samples:
                self._next = time.monotonic() + 10 * _EVERY_S  # not allowed, or the processes have ended
            return
        row = json.loads(text)
        for name in ("samples", "waits", "yields"):
            setattr(self._found, name, getattr(self._found, name) + row[name])

    def end(self) -> Proved | None:
        if self._run:
            self._take()
        return self._found if self._found.samples else None
