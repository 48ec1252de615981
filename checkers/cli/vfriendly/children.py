# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every process that the tool starts gets: it dies with the tool, and before others if memory is short."""

import ctypes
import os
import resource
import signal
from collections.abc import Callable

from vfriendly import regular

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)  # before a fork, after which nothing may be loaded
# Minimum limit in bytes of the data of a child that examines code: twice what clang-tidy takes for the largest source
# that is examined (unit.LARGEST).
_LEAST_DATA = 4 << 30


def die_with_parent() -> Callable[[], None]:
    """Returns what a child does before exec, so that the kernel kills it when the thread that started it ends."""
    parent = os.getpid()

    def ask() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # killed meanwhile
            os._exit(1)

    return ask


def limit(child: int, files: bool = True) -> None:
    """Limits the memory and the size of files of a child that examines code, as macros may expand without end."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    data = max(_LEAST_DATA, memory // 2)
    sizes = ((resource.RLIMIT_FSIZE, regular.LARGEST),) if files else ()
    for which, most in (*sizes, (resource.RLIMIT_DATA, data)):
        try:
            resource.prlimit(child, which, (most, most))
        except (OSError, ValueError):
            pass  # it has ended, or its limit is lower
    try:
        with open(f"/proc/{child}/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass  # it has ended
