# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""canonical.py FILE...: rewrites packages of cpack's so that only what they hold decides about their bytes.

cpack takes modes of folders from the umask, and sizes of folders (in a package's Installed-Size), the order of an archive's
entries and that of checksums from the file system. Times are SOURCE_DATE_EPOCH, which must be set. (Debian's
strip-nondeterminism mends times, but neither modes nor sizes.)
"""

import gzip
import io
import os
import re
import sys
import tarfile

KIB = 1024
AR = b"!<arch>\n"


def entries(text):
    """Yields each entry of a tar archive with its content, ordered by name."""
    with tarfile.open(fileobj=io.BytesIO(text)) as tar:
        for entry in sorted(tar.getmembers(), key=lambda each: each.name):
            yield entry, tar.extractfile(entry).read() if entry.isfile() else b""


def archive(text, change=lambda name, content: content):
    """Returns a tar archive of gzip's with what TEXT has, each content as CHANGE returns it."""
    new = io.BytesIO()
    with gzip.GzipFile(fileobj=new, mode="wb", compresslevel=6, mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for entry, content in entries(text):
            content = change(entry.name, content)
            entry.mtime, entry.size = int(os.environ["SOURCE_DATE_EPOCH"]), len(content)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mode = 0o777 if entry.issym() else 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return new.getvalue()


def members(text):
    """Yields each name of an archive of ar's with its content."""
    at = len(AR)
    while at < len(text):
        size = int(text[at + 48:at + 58])
        yield text[at:at + 16].decode().strip().rstrip("/"), text[at + 60:at + 60 + size]
        at += 60 + size + size % 2


def package(text):
    """Returns the package TEXT of Debian's."""
    parts = dict(members(text))
    # As dpkg-gencontrol counts.
    size = sum(-(-entry.size // KIB) if entry.isfile() else 1 for entry, _ in entries(parts["data.tar.gz"]))

    def change(name, content):
        if name == "./control":
            return re.sub(rb"(?m)^Installed-Size: .*$", b"Installed-Size: %d" % size, content)
        return b"".join(sorted(content.splitlines(True))) if name == "./md5sums" else content

    control = archive(parts["control.tar.gz"], change)
    new = AR
    for name, content in (("debian-binary", parts["debian-binary"]), ("control.tar.gz", control), ("data.tar.gz", archive(parts["data.tar.gz"]))):
        head = f"{name:<16}{os.environ['SOURCE_DATE_EPOCH']:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
        new += head.encode() + content + b"\n" * (len(content) % 2)
    return new


def rewrite(path):
    with open(path, "rb") as file:
        text = file.read()
    text = package(text) if path.endswith(".deb") else archive(text)
    with open(path, "wb") as file:
        file.write(text)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        rewrite(each)
