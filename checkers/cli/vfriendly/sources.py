# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source files as bytes: offsets of clang are bytes, columns of SARIF are UTF-16."""

import bisect
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass

from vfriendly import regular


@functools.cache
def _real_folder(path: str) -> str:
    return os.path.realpath(path)


@functools.cache
def _real_file(folder: str, name: str) -> str:
    """Returns the real path of a file in a folder; the path of the folder is real already."""
    path = os.path.join(folder, name)
    return os.path.realpath(path) if os.path.islink(path) else path


@functools.cache
def real(directory: str, path: str) -> str:
    """Returns the real path of a file, so that it is the same for all units that read the file.

    Caches the real paths of folders: a unit reads some hundred headers from few folders, and realpath
    asks the system about each part of each path.
    """
    folder, name = os.path.split(os.path.join(directory, path))
    if name in ("", os.curdir, os.pardir):
        return _real_folder(os.path.join(folder, name))
    return _real_file(_real_folder(folder), name)


@dataclass(frozen=True)
class Position:
    """A place in a file; line and columns count from 1."""

    line: int
    byte: int
    utf16: int


def decode(text: bytes) -> str:
    """UTF-8, or Latin-1, in which any bytes are characters."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


class Source:
    def __init__(self, data: bytes) -> None:
        self.data = data

    @functools.cached_property
    def starts(self) -> list[int]:
        """The offset of each line."""
        starts, at = [0], self.data.find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.data.find(b"\n", at + 1)
        return starts

    def position(self, offset: int) -> Position:
        offset = max(0, min(offset, len(self.data)))
        line = bisect.bisect_right(self.starts, offset)
        start = self.starts[line - 1]
        before = self.data[start:offset]
        # Decodes the beginning of the line in the same way as decode() decodes the whole line: as
        # UTF-8 if the line is UTF-8, otherwise as Latin-1.
        text = before.decode("utf-8") if _is_utf8(self.line(line)) and _is_utf8(before) \
            else before.decode("latin-1")
        return Position(line, offset - start + 1, len(text.encode("utf-16-le")) // 2 + 1)

    def line(self, number: int) -> bytes:
        """The bytes of a line without its end."""
        if not 1 <= number <= len(self.starts):
            return b""
        end = self.starts[number] if number < len(self.starts) else len(self.data)
        return self.data[self.starts[number - 1]:end].rstrip(b"\r\n")

    def offset(self, line: int, byte: int = 1) -> int:
        return self.starts[min(line, len(self.starts)) - 1] + byte - 1

    @property
    def crlf(self) -> bool:
        """Whether lines end as on Windows: as the first does."""
        end = self.data.find(b"\n")
        return end > 0 and self.data[end - 1:end] == b"\r"


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


class Sources:
    """The files that findings are in, each read once. overlay: contents to use instead of reading a file."""

    def __init__(self, overlay: dict[str, bytes] | None = None,
                 read: Callable[[str], bytes] = regular.read) -> None:
        self._files: dict[str, Source] = {
            path: Source(data) for path, data in (overlay or {}).items()}
        self._read = read

    def __getitem__(self, path: str) -> Source:
        if path not in self._files:
            try:
                data = self._read(path)
            except OSError:
                data = b""  # vanished since clang-tidy read it: reported as that, elsewhere
            self._files[path] = Source(data)
        return self._files[path]
