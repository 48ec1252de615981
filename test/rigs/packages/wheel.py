# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wheel.py ARCHIVE FOLDER: makes a wheel for pip of a relocatable archive.

pip puts the files where they are in the archive, below the environment's prefix: bin/vfriendly
and lib/vfriendly/llvm-N of each LLVM in the archive. Compilers and clang-tidy are not in it.
"""

import base64
import hashlib
import os
import posixpath
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# What the tool imports; libbpf and libdw, which measure needs, are not Python's.
REQUIRES = ("PyYAML", "rich", "unidiff", "psutil")
# zip has no dates before; a fixed one makes the same wheel of the same archive.
DATE = (1980, 1, 1, 0, 0, 0)
# Not for a program that pip installs.
LEFT_OUT = re.compile(r"share/doc/|lib/systemd/")


def newest_glibc(folder):
    """Returns the newest version of glibc's symbols that a file of FOLDER needs, as (major, minor)."""
    found = {(2, 17)}  # the oldest that a tag of wheels can name with a number
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                if file.read(4) != b"\x7fELF":
                    continue
            symbols = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=False).stdout
            found.update((int(a), int(b)) for a, b in re.findall(r"\*UND\*.*GLIBC_(\d+)\.(\d+)", symbols))
    return max(found)


class Wheel:
    def __init__(self, path, name):
        self.zip, self.name, self.record = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED), name, []

    def add(self, path, content, executable=False):
        entry = zipfile.ZipInfo(path, DATE)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{path},sha256={digest},{len(content)}")

    def close(self):
        path = f"{self.name}.dist-info/RECORD"
        self.zip.writestr(zipfile.ZipInfo(path, DATE), "\n".join([*self.record, f"{path},,"]) + "\n")
        self.zip.close()


def make(archive, folder):
    """Makes the wheel of ARCHIVE in FOLDER and returns its path."""
    version, processor = re.fullmatch(r"vfriendly-(.+)-(\w+)\.tar\.gz", os.path.basename(archive)).groups()
    name = f"vfriendly-{version}"
    with tempfile.TemporaryDirectory() as unpacked:
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked)  # ours
        tag = "py3-none-manylinux_{}_{}_{}".format(*newest_glibc(unpacked), processor)
        [top] = os.listdir(unpacked)
        root = os.path.join(unpacked, top)
        wheel = Wheel(os.path.join(folder, f"{name}-{tag}.whl"), name)
        for where, folders, names in os.walk(root):
            folders.sort()
            for each in sorted(names):
                path = os.path.join(where, each)
                below = posixpath.relpath(path, root)
                if LEFT_OUT.match(below):
                    continue
                with open(path, "rb") as file:  # a link of a library's names becomes a copy
                    content = file.read()
                kind = "data"
                if below.startswith("bin/") and content.startswith(b"#!/usr/bin/python3\n"):
                    kind, below = "scripts", below.removeprefix("bin/")
                    content = content.replace(b"#!/usr/bin/python3", b"#!python", 1)  # pip writes the environment's
                wheel.add(f"{name}.data/{kind}/{below}", content, os.access(path, os.X_OK))
        wheel.add(f"{name}.dist-info/METADATA",
                  ("Metadata-Version: 2.1\nName: vfriendly\n" f"Version: {version}\n"
                   "Summary: Finds and rewrites code that is slow in virtual machines\n"
                   "License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.10\n"
                   + "".join(f"Requires-Dist: {each}\n" for each in REQUIRES)).encode())
        wheel.add(f"{name}.dist-info/WHEEL", f"Wheel-Version: 1.0\nGenerator: vfriendly\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
        wheel.close()
    return wheel.zip.filename


if __name__ == "__main__":
    print(make(*sys.argv[1:]))
