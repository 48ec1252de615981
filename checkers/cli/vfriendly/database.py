# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation databases: one entry is one unit of work."""

import json
import os
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vfriendly import allowed, regular
from vfriendly.errors import Refused

NAME = "compile_commands.json"
# Maximum size in bytes of a database: that of Chromium has 300 MB.
LARGEST = 2 << 30
HOW = ("CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; Meson: is in its build folder; "
       "Ninja: ninja -t compdb; make: bear -- make; Bazel: bazel-compile-commands-extractor")
# Extensions of the files that clang-tidy can parse; a database may also name assembly and Fortran.
SUFFIXES = {".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".m", ".mm", ".h", ".hh", ".hpp", ".i", ".ii"}
# Options to remove: they turn warnings into errors, which end the examination of a unit early.
STRICT = re.compile(r"-Werror($|=)|-pedantic-errors$|-Wfatal-errors$")


@dataclass(frozen=True)
class Unit:
    directory: str
    file: str  # absolute
    arguments: tuple[str, ...]  # those of allowed.choose
    left_out: tuple[str, ...] = ()  # options that do not reach clang, and that a user may miss
    known: tuple[str, ...] = ()  # what other units tell it (program.py)

    @property
    def name(self) -> str:
        """Sorts units; two entries of one file differ in their arguments."""
        return self.file + "\0" + "\0".join(self.arguments)

    def entry(self, arguments: Iterable[str]) -> dict[str, Any]:
        return {"directory": self.directory, "file": self.file, "arguments": list(arguments)}


HERE = "."  # the default of -p
FOLDERS = ("build", "builddir", "out", "_build", "build/*", "out/*", "cmake-build-*", "build-*")


def locate(build: str) -> Path:
    path = Path(build)
    # The usual places of a build below the project, if none was named.
    if build == HERE and not (path / NAME).is_file():
        found = [p for name in FOLDERS for p in sorted(path.glob(name)) if (p / NAME).is_file()]
        if len(found) > 1:
            raise Refused(f"several folders have a {NAME}: {', '.join(map(str, found))}: "
                          "choose one with -p, or in vfriendly.toml")
        path = found[0] if found else path
    if path.suffix != ".json":
        if not path.is_dir():
            raise Refused(f"-p {build}: no such folder")
        path = path / NAME
    if not path.is_file():
        raise Refused(f"there is no {path.name} in {path.parent.absolute()}; to get one, {HOW}")
    return path


class Unusable(Exception):
    """An entry that is no unit. Its text says why."""


def _is_text(word: str) -> bool:
    """Returns True if the system can be given the word: as UTF-8, or as bytes that are none."""
    try:
        return b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        return False


def _unit(row: Any, path: Path, number: int) -> Unit:
    def refuse(why: str) -> Unusable:
        return Unusable(f"entry {number}: {why}")

    if not isinstance(row, dict) or not isinstance(row.get("directory"), str) \
            or not isinstance(row.get("file"), str):
        raise refuse("it needs a directory and a file")
    words = row.get("arguments")
    if words is None and isinstance(row.get("command"), str):
        try:
            words = shlex.split(row["command"])
        except ValueError as error:
            raise refuse(f"its command cannot be split: {error}") from error
    if not isinstance(words, list) or not words or not all(isinstance(w, str) for w in words):
        raise refuse("it needs a command or arguments")
    if not all(_is_text(w) for w in (row["directory"], row["file"], *words)):
        raise refuse("it has characters that no file name and no option can have")
    directory = os.path.normpath(os.path.join(path.parent.resolve(), row["directory"]))
    file = os.path.normpath(os.path.join(directory, row["file"]))
    try:
        command = allowed.choose([w for w in words if not STRICT.match(w)], directory, file)
    except allowed.TooLong as error:
        raise refuse(str(error)) from error
    return Unit(directory, file, command.words, command.left_out)


@dataclass(frozen=True)
class Database:
    path: str
    units: list[Unit]  # of C, C++ and Objective-C
    others: int  # number of entries of other languages
    unusable: list[str]  # why other entries are no units


def read(build: str) -> Database:
    """Raises Refused if there is nothing to examine."""
    path = locate(build)
    try:
        rows = json.loads(regular.read(path, LARGEST))
    except (OSError, ValueError, RecursionError) as error:
        raise Refused(f"{path} cannot be read: {error}; make it again: {HOW}") from error
    if not isinstance(rows, list) or not rows:
        raise Refused(f"{path} has no entries: was everything built already? Clean, then {HOW}")
    units, unusable = dict[Unit, None](), list[str]()
    for number, row in enumerate(rows, 1):
        try:
            units[_unit(row, path, number)] = None
        except Unusable as why:
            unusable.append(str(why))
    ours = [u for u in units if os.path.splitext(u.file)[1] in SUFFIXES]
    if not ours and unusable:
        raise Refused(f"{path}: {unusable[0]}; make the database again: {HOW}")
    if not ours:
        raise Refused(f"{path} has no entry for C or C++")
    return Database(str(path.resolve()), ours, len(units) - len(ours), unusable)
