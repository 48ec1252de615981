# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes an initramfs: busybox, some files, and an init that runs one script.

The script's output goes to a serial port of its own, so that the kernel's messages
are never in the middle of a line; its exit status is the last line there, after which
the machine resets.
"""

import os
import re
import stat
import subprocess

from guest import Broken

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
stty -F /dev/{port} -onlcr -echo
(. /script) </dev/null >/dev/{port} 2>&1
echo "{name}: end $?" >/dev/{port}
reboot -f
"""
FOLDERS = ("bin", "dev", "proc", "sys", "tmp")


def _entry(number, name, mode, content=b""):
    """One file in the 'new ASCII' format of cpio."""
    encoded = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
    head = b"070701" + b"".join(b"%08x" % f for f in fields) + encoded
    pad = lambda data: data + b"\0" * (-len(data) % 4)
    return pad(head) + pad(content)


def libraries(program):
    """Shared libraries and the loader of a program, by the path it looks for them."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True)
    if "not a dynamic executable" in done.stderr or "statically linked" in done.stdout:
        return {}
    if done.returncode or "not found" in done.stdout:
        raise Broken(f"ldd {program}: {(done.stdout + done.stderr).strip()}")
    return {path: path for path in re.findall(r"(/\S+) \(0x", done.stdout)}


def write(path, busybox, files, script, name="guest", port="ttyS1"):
    """files: path in the guest -> path here; programs bring their libraries."""
    contents = {"bin/busybox": busybox}
    for inside, outside in files.items():
        contents[inside.lstrip("/")] = outside
        if os.access(outside, os.X_OK):
            contents.update({i.lstrip("/"): o for i, o in libraries(outside).items()})
    folders = set(FOLDERS)
    for inside in contents:
        while inside := os.path.dirname(inside):
            folders.add(inside)
    # A folder comes before what is in it: the kernel makes none by itself.
    entries = [(f, stat.S_IFDIR | 0o755, b"") for f in sorted(folders)]
    for inside, outside in contents.items():
        with open(outside, "rb") as file:
            entries.append((inside, stat.S_IFREG | 0o755, file.read()))
    init = INIT.format(port=port, name=name)
    entries.append(("init", stat.S_IFREG | 0o755, init.encode()))
    entries.append(("script", stat.S_IFREG | 0o644, script.encode()))
    with open(path, "wb") as out:
        for number, entry in enumerate(entries):
            out.write(_entry(number, *entry))
        out.write(_entry(len(entries), "TRAILER!!!", 0))
    return path
