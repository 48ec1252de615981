# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_sample.py PROGRAM VARIABLE: a program with libvfsample.so or libvfblocks.so, which another user starts with and without the setuid bit of root.

Only the one without the bit writes samples to the file that its user names."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

from parts import NOBODY

MAGIC, SIZE = {"VF_SAMPLE": 0x31656c706d617376, "VF_BLOCKS": 0x31736b636f6c6276}[sys.argv[2]], 1 << 20


def samples(program, folder, mode, owner):
    """Returns how many samples it has written to a file of the owner."""
    copy, ring = os.path.join(folder, "program"), os.path.join(folder, "ring")
    shutil.copy(program, copy)
    os.chown(copy, 0, 0)
    os.chmod(copy, mode)
    with open(ring, "wb") as file:
        file.write(struct.pack("<Q", MAGIC).ljust(SIZE, b"\0"))
    os.chmod(ring, 0o600)
    os.chown(ring, owner, owner)
    subprocess.run([*NOBODY, copy], env={**os.environ, sys.argv[2]: ring}, check=True)
    with open(ring, "rb") as file:
        return struct.unpack("<QQ", file.read(16))[1]


with tempfile.TemporaryDirectory(dir="/tmp") as folder:
    os.chmod(folder, 0o755)
    assert samples(sys.argv[1], folder, 0o755, 65534) > 0
    for owner in (0, 65534):
        found = samples(sys.argv[1], folder, 0o4755, owner)
        assert found == 0, (owner, found)
