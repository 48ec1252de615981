# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applies series to a tree of three files, and makes what is none."""

import difflib
import os
import sys
import tarfile

root, out = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "test", "rigs"), os.path.join(root, "test", "rigs", "bench")]

import measure  # noqa: E402
from guest import Broken  # noqa: E402
from kernel import build, source  # noqa: E402

LONG_AGO = 1000000000
pristine = os.path.join(source.folder(out, "6.1"), source.PRISTINE)
FILES = {"a": "one\ntwo\n", "b": "three\n", "c": "four\n"}
os.makedirs(pristine)
for name, text in FILES.items():
    with open(os.path.join(pristine, name), "w") as file:
        file.write(text)
    os.utime(os.path.join(pristine, name), (LONG_AGO, LONG_AGO))


def written(folder, name, changes):
    """A series of one patch: file -> its new text."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w") as file:
        file.write("From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\n---\n")
        for path, text in changes.items():
            old = FILES.get(path)
            file.write(f"diff --git a/{path} b/{path}\n" + ("" if old else "new file mode 100644\n"))
            file.write("".join(difflib.unified_diff(
                (old or "").splitlines(True), text.splitlines(True),
                f"a/{path}" if old else "/dev/null", f"b/{path}")))
        file.write("-- \n2.39\n")
    with open(os.path.join(folder, "0000-cover-letter.patch"), "w") as file:
        file.write("no patch\n")
    return source.series("s", folder)


def text(tree, name):
    return open(os.path.join(tree, name)).read()


def time(tree, name):
    return os.stat(os.path.join(tree, name)).st_mtime


def pristine_is_so():
    return all(text(pristine, n) == t and time(pristine, n) == LONG_AGO for n, t in FILES.items())


first = written(os.path.join(out, "first"), "0001-x.patch", {"a": "one\n2\n", "b": "3\n", "new/d": "d\n"})
tree = source.patched(out, "6.1", first)
assert text(tree, "a") == "one\n2\n" and text(tree, "new/d") == "d\n" and pristine_is_so()
assert time(tree, "c") == LONG_AGO < time(tree, "a")
for name in ("a", "b", "new/d"):
    os.utime(os.path.join(tree, name), (LONG_AGO + 1, LONG_AGO + 1))  # was compiled

# a is as it was, b is pristine again, c is another: make is to look at b and c.
second = written(os.path.join(out, "second"), "0001-x.patch", {"a": "one\n2\n", "c": "4\n", "new/d": "d\n"})
assert first.digest() != second.digest() and first.touched() == {"a", "b", "new/d"}
assert source.patched(out, "6.1", second) == tree
assert text(tree, "b") == "three\n" and text(tree, "c") == "4\n" and pristine_is_so()
assert time(tree, "a") == time(tree, "new/d") == LONG_AGO + 1
assert time(tree, "b") > LONG_AGO + 1 and time(tree, "c") > LONG_AGO + 1

# Once more: nothing is done, nor said. Another commit's mail is no other series.
before = os.stat(tree).st_ino
with open(second.patches[0], "r+") as file:
    file.write("From 9999999999")
assert source.patched(out, "6.1", second) == tree and os.stat(tree).st_ino == before

FILES["a"] = "nobody has this\n"
try:
    source.patched(out, "6.1", written(os.path.join(out, "bad"), "0001-bad.patch", {"a": "5\n"}))
    raise AssertionError("that should not apply")
except Broken as error:
    print(error)
assert text(tree, "c") == "4\n", "a series that does not apply must leave the last one"

# Without a whole tree: only what the series touch is unpacked.
archive = os.path.join(out, "linux-source-6.1.tar.xz")
with tarfile.open(archive, "w:xz") as file:
    file.add(pristine, "linux-source-6.1")
source.installed_archive = lambda version: archive
source.applies("6.1", [first, second])
try:
    source.applies("6.1", [first, source.series("s", os.path.join(out, "bad"))])
    raise AssertionError("that should not apply")
except Broken as error:
    print(error)

# On another tree: what stands in the way, patch by patch, and not what a later patch needs of an earlier one.
other = os.path.join(out, "other")
os.makedirs(other)
for name, content in (("a", "one\ntwo\n"), ("c", "5\n")):
    with open(os.path.join(other, name), "w") as file:
        file.write(content)
FILES["a"] = "one\ntwo\n"
two = written(os.path.join(out, "two"), "0001-x.patch", {"a": "one\n2\n", "b": "3\n", "c": "4\n", "new/d": "d\n"})
FILES.update({"a": "one\n2\n", "new/d": "d\n"})
two = written(os.path.join(out, "two"), "0002-y.patch", {"a": "1\n2\n", "new/d": "D\n"})
found = list(source.in_the_way(other, two))
assert found == [("0001-x.patch", "b", 1, 1), ("0001-x.patch", "c", 1, 1)], found
assert sorted(os.listdir(other)) == ["a", "c"] and text(other, "a") == "one\ntwo\n"

make_tree = os.path.join(out, "make")
os.makedirs(make_tree)
with open(os.path.join(make_tree, "Makefile"), "w") as file:
    file.write("all:\n\t@echo '  CC      x.o'\n\t@echo 'error: no such thing'\n"
               "\t@for i in $$(seq 20); do echo '  CC      z.o'; done; echo '  CC      y.o'; false\n")
make = build.Make(make_tree, os.path.join(out, "objects"), build.Kind(), measure.Progress("make"))
try:
    make("building", "all")
    raise AssertionError("that should fail")
except Broken as error:
    print(error)

# What another file includes is compiled with that one.
for name, content in (("policy.c", '#include "idle.c"\n'), ("idle.c", ""), ("other.c", "")):
    with open(os.path.join(make_tree, name), "w") as file:
        file.write(content)
assert [build.unit(make_tree, n) for n in ("idle.c", "other.c")] == ["policy.c", "other.c"]
print("source: ok")
