# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""terminal.py COMMAND...: runs a command whose output and errors are a terminal, and prints them."""
import os
import pty
import sys

CHUNK = 4096


def read(file: int) -> bytes:
    return os.read(file, CHUNK).replace(b"\r\n", b"\n")


sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], read)))
