# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Opens files of others: regular ones only, and without waiting.

Where a source is expected, a tree may have a FIFO, on which open waits for ever, or a link to a device.
"""

import os
import stat
from typing import BinaryIO

# Maximum size in bytes of a file to read whole.
LARGEST = 256 << 20


class NotRegular(OSError):
    """strerror says why the file is not read."""

    def __init__(self, why: str) -> None:
        super().__init__(0, why)


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Raises OSError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except ValueError as error:  # a name with a NUL, or with characters that no name can have
        raise NotRegular(str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotRegular("it is no regular file")
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """Returns the bytes of the file. Raises OSError."""
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise NotRegular(f"it has more than {most >> 20} MiB")
    return data
