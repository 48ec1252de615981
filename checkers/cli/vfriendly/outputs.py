# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the file of -o, whatever stands there: a file, a pipe, a device, or a link to one.

Others may have put a link or a pipe into a folder that they can write, such as /tmp.
"""

import os
import re
import stat
from pathlib import Path

from vfriendly import cache

# Links that are followed, as the kernel does.
_MOST_LINKS = 40
# What /dev/stdout and /dev/fd/N are.
_DESCRIPTOR = re.compile(r"/proc/(self|thread-self|\d+)/(task/\d+/)?fd/(\d+)")


def _end_of(path: Path) -> tuple[Path, os.stat_result | None]:
    """Returns what the path leads to, by links of this user and of root only. Raises OSError."""
    for _ in range(_MOST_LINKS):
        path = Path(os.path.realpath(path.parent), path.name)
        if _DESCRIPTOR.fullmatch(str(path)):
            return path, None
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return path, None
        if os.stat(path.parent).st_mode & 0o022 and status.st_uid not in (os.geteuid(), 0):
            raise OSError(0, "it is another user's, in a folder that others can write")
        if not stat.S_ISLNK(status.st_mode):
            return path, status
        path = path.parent / os.readlink(path)
    raise OSError(0, "too many links")


def write(path: Path, data: bytes) -> None:
    """Replaces a file whole; writes to anything else. Raises OSError."""
    end, status = _end_of(path)
    own = _DESCRIPTOR.fullmatch(str(end))
    if own and own[1] in ("self", "thread-self", str(os.getpid())):
        with os.fdopen(os.dup(int(own[3])), "wb") as file:
            file.write(data)
    elif not own and (status is None or stat.S_ISREG(status.st_mode)):
        cache.replace(end, data)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(end, 0o666 & ~umask)
    else:
        with open(end, "wb") as file:
            file.write(data)
