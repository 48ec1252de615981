# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose a file of settings is: in /tmp, and in every folder above a project, other users may have put one."""

import os
import stat
from pathlib import Path


def nearest(name: str, folder: Path) -> tuple[list[Path], Path | None]:
    """Returns the files of this name in the folder and above, the nearest first, and another user's, which ends them.

    Those of this user, of root, and of the owner of the folder are no other's.
    """
    found = list[Path]()
    owners = {os.geteuid(), 0}
    try:
        owners.add(os.stat(folder).st_uid)
    except (OSError, ValueError):
        pass
    for each in (folder, *folder.parents):
        path = each / name
        try:
            status, link = os.stat(path), os.lstat(path)
        except (OSError, ValueError):
            continue
        if not {status.st_uid, link.st_uid} <= owners:
            return found, path
        if stat.S_ISREG(status.st_mode):
            found.append(path)
    return found, None
