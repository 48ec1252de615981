# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The remedy that a trial found best for a program, kept for vfriendly run --auto.

A program is its path, size and time of change: after a rebuild, a new trial is needed.
"""

import hashlib
import json
import os
from pathlib import Path

from vfriendly import cache, documents


def _file(program: str) -> Path:
    about = os.stat(program)
    key = hashlib.sha256(repr((program, about.st_size, about.st_mtime_ns)).encode()).hexdigest()[:32]
    return cache.user_folder() / "trials" / f"{key}.json"


def store(program: str, remedy: str, gain: str) -> None:
    """Remembers the remedy. A folder that cannot be written loses only --auto."""
    try:
        file = _file(program)
        cache.make_private(file.parent)
        cache.replace(file, json.dumps({"program": program, "remedy": remedy, "gain": gain}).encode())
    except OSError:
        pass


def load(program: str) -> str | None:
    try:
        file = _file(program)
        cache.make_private(file.parent)
        return str(documents.json_of(file)["remedy"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
