# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results of units on disk, valid while every file that was read has the same bytes.

One file per unit, renamed into place, so that a killed scan can be continued. A new header
earlier on the include path than the one that was read is not noticed: use --no-cache then.
"""

import hashlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from stat import S_ISREG
from typing import Any

from vfriendly import __version__, regular
from vfriendly.tools import digest_of_file

# Version of the cache's entries; incremented when their form or meaning changes.
FORM = "3"
# Time for which a file must have been unchanged before its time stamp is trusted. Stamps have the
# resolution of the kernel's tick, at most 10 ms, so a file changed just before it was read may
# change again and keep its stamp. 50 ms leave a reserve.
TICK_NS = 50_000_000


class Files:
    """Caches digests of files. Files of unchanged size and times are not read again."""

    def __init__(self, store: Path | None = None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: dict[str, list[Any]] = {}
        self._run: dict[str, str | None] = {}
        if store:
            try:
                kept = json.loads(regular.read(store))
            except (OSError, ValueError, RecursionError):
                return  # only an accelerator
            if isinstance(kept, dict):
                self._kept = kept

    def digest(self, path: str) -> str | None:
        """Returns the digest of the file as of its first use in this run; None if it is unreadable."""
        if path in self._run:
            return self._run[path]
        value = self._fresh(path)
        self._run[path] = value
        return value

    def _fresh(self, path: str) -> str | None:
        try:
            stat = os.stat(path)
            if not S_ISREG(stat.st_mode):
                return None
            stamp = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
            kept = self._kept.get(path)
            if isinstance(kept, list) and len(kept) == 2 and kept[1] == stamp and isinstance(kept[0], str):
                return kept[0]
            with regular.open_regular(path) as file:
                value = digest_of_file(file)
                now = os.fstat(file.fileno())
        except (OSError, ValueError):
            return None
        settled = max(stat.st_mtime_ns, stat.st_ctime_ns) + TICK_NS < time.time_ns()
        if settled and stamp == [now.st_size, now.st_mtime_ns, now.st_ctime_ns, now.st_ino]:
            with self._lock:
                self._kept[path] = [value, stamp]
        return value

    def digest_all(self, paths: Iterable[str], again: bool = False) -> str | None:
        """Returns one digest of the files' names and bytes; None if a file cannot be read.

        again: reads the files again, instead of using what this run has read before.
        """
        both = hashlib.sha256()
        for path in paths:
            value = self._fresh(path) if again else self.digest(path)
            if value is None:
                return None
            both.update(f"{path}\0{value}\0".encode("utf-8", "surrogateescape"))
        return both.hexdigest()

    def save(self) -> None:
        if self._store:
            with self._lock:
                _write(self._store, json.dumps(self._kept).encode())


def replace(path: Path, data: bytes) -> None:
    """Writes a file so that a reader sees the old or the new one, whole."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _write(path: Path, data: bytes) -> None:
    """Writes a file of the cache. A full disk makes the next run slower, nothing else."""
    try:
        replace(path, data)
    except OSError:
        pass


def are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def user_folder() -> Path:
    """Returns the user's own folder for what the tool keeps. Raises OSError if there is none.

    A relative XDG_CACHE_HOME would be a folder of whatever tree is the working directory, and is to be ignored as its
    specification says.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(home) if os.path.isabs(home) else Path("~/.cache").expanduser()
    except RuntimeError:
        base = Path()
    if not base.is_absolute():
        raise OSError(0, "there is no home folder")
    return base / "vfriendly"


def default_folder(project: str) -> Path:
    """Returns the folder of the results of a project: the user's own, outside of the tree.

    A tree could bring results that hide its findings.
    """
    name = hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()[:32]
    return user_folder() / f"{__version__}-{FORM}" / name


def make_private(folder: Path) -> None:
    """Makes a folder that only this user can write. Raises OSError if it belongs to others."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise OSError(0, "others can write in it")


class Cache:
    """Stores the results of units. With folder None nothing is stored."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        if folder:
            make_private(folder)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                replace(ignore, b"*\n")
        self.files = Files(folder / "files.json" if folder else None)

    def path(self, key: str) -> Path:
        assert self.folder
        return self.folder / f"{key}.json"

    def entry(self, key: str) -> dict[str, Any] | None:
        """Returns the entry of the key, valid or not."""
        if not self.folder:
            return None
        try:
            entry = json.loads(regular.read(self.path(key)))
            return entry if isinstance(entry, dict) and are_words(entry.get("files")) else None
        except (OSError, ValueError, RecursionError):
            return None

    def load(self, key: str) -> dict[str, Any] | None:
        """Returns the result if all files that it depends on are unchanged."""
        entry = self.entry(key)
        if not entry or self.files.digest_all(entry["files"]) != entry.get("digest"):
            return None
        result = entry.get("result")
        return result if isinstance(result, dict) else None

    def store(self, key: str, began: int, files: Iterable[str], result: dict[str, Any]) -> None:
        """Keeps a result that was made from these files since began (time.time_ns())."""
        if not self.folder:
            return
        read = sorted(set(files))
        for path in read:
            try:
                stat = os.stat(path)
            except OSError:
                return
            if max(stat.st_mtime_ns, stat.st_ctime_ns) > began - TICK_NS:
                return  # it changed meanwhile: the bytes that were read are unknown
        digest = self.files.digest_all(read, again=True)
        if digest:
            entry = {"files": read, "digest": digest, "result": result}
            _write(self.path(key), json.dumps(entry).encode())


def key_of(*parts: Any) -> str:
    return hashlib.sha256(json.dumps([FORM, *parts]).encode()).hexdigest()[:40]
