# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Temporary folders in whose place no other user can put something.

TMPDIR may be another user's folder, or one that others can write without the sticky bit. A user who can rename what is
there could put a link in its place, through which this user would then write.
"""

import functools
import os
import stat
import tempfile
from pathlib import Path

from vfriendly import cache


@functools.cache
def _is_own(folder: str) -> bool:
    """Returns true if only this user and root can rename what is in the folder, and the folders that lead to it."""
    for each in (Path(folder), *Path(folder).parents):
        status = os.stat(each)
        if status.st_uid not in (os.geteuid(), 0) or (status.st_mode & 0o022 and not status.st_mode & stat.S_ISVTX):
            return False
    return True


def place() -> str:
    """Returns TMPDIR or, if it is not safe, the user's folder for caches. Raises OSError."""
    where = os.path.realpath(tempfile.gettempdir())
    if _is_own(where):
        return where
    own = cache.user_folder() / "temporary"
    cache.make_private(own)
    return str(own)


def environment() -> dict[str, str]:
    """Returns this program's for a tool that makes temporary files of its own."""
    return {**os.environ, "TMPDIR": place()}


def folder(prefix: str = "vfriendly-") -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix=prefix, dir=place())
