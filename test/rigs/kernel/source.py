# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linux' source: Debian's, unpacked once, and a copy of it with a patch series applied.

The copy consists of hard links, 1.5 GB in a few seconds; a file's link is replaced by a file of
its own before the file is changed. If the series changes, the copy stays, and files that do not
change keep their time of modification, so that make compiles only the others.
"""

import collections
import contextlib
import filecmp
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass

from guest import Broken, packages

VERSIONS = ("6.1", "6.12")
PACKAGE = "linux-source-{}"
ARCHIVE = "/usr/src/linux-source-{}.tar.xz"
UNPACKERS = ("xz-utils", "git")
# Folders in build/kernel/VERSION.
PRISTINE, PATCHED = "pristine", "patched"
# A file in a patched tree: the digest of its series, and the files that the series touches.
NOTE = ".vfriendly-series"


@dataclass
class Series:
    """Patches in the order of their names; without any it stands for Debian's kernel."""

    name: str
    patches: list

    def digest(self):
        found = hashlib.sha256()
        for path in self.patches:
            with open(path, "rb") as file:
                # The first line of each mail names a commit of a private tree, which may change.
                text = re.sub(rb"^From [0-9a-f]{40} .*\n", b"", file.read())
            found.update(text)
        return found.hexdigest()

    def touched(self):
        """Returns the files that the series changes, creates or removes."""
        found = set()
        for path in self.patches:
            with open(path, errors="replace") as file:
                for line in file:
                    at = re.match(r"diff --git a/(\S+) b/(\S+)", line)
                    if at:
                        found.update(at.groups())
        return found


# Debian's kernel, in which the feature is never on.
NONE = Series("none", [])


def series(name, folder):
    """Returns the series in a folder, as git format-patch writes it; 0000 is the cover letter."""
    patches = sorted(p for p in glob.glob(os.path.join(folder, "[0-9][0-9][0-9][0-9]-*.patch"))
                     if not os.path.basename(p).startswith("0000-"))
    if not patches:
        raise Broken(f"there is no NNNN-*.patch in {folder}")
    return Series(name, patches)


def folder(build, version):
    return os.path.join(build, "kernel", version)


@contextlib.contextmanager
def locked(build):
    """Keeps other processes from unpacking and building in the same folder."""
    os.makedirs(os.path.join(build, "kernel"), exist_ok=True)
    with open(os.path.join(build, "kernel", "lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise Broken(f"{' '.join(command)}: {last[0]}")
    return done.stdout


def unpacked(build, version):
    """Returns the pristine tree's folder; None if it is not there."""
    tree = os.path.join(folder(build, version), PRISTINE)
    return tree if os.path.isdir(tree) else None


def installed_archive(version):
    packages.install([PACKAGE.format(version), *UNPACKERS])
    archive = ARCHIVE.format(version)
    if not os.path.exists(archive):
        raise Broken(f"{PACKAGE.format(version)} is installed, but has no {archive}")
    return archive


def unpack(build, version, say=print):
    """Returns the pristine tree's folder after unpacking it if it is not there."""
    if unpacked(build, version):
        return unpacked(build, version)
    tree = os.path.join(folder(build, version), PRISTINE)
    archive = installed_archive(version)
    say(f"unpacking {os.path.basename(archive)}")
    os.makedirs(folder(build, version), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder(build, version)) as work:
        _run(["tar", "-C", work, "-xf", archive])
        (found,) = os.listdir(work)
        os.rename(os.path.join(work, found), tree)  # atomic: the tree is complete or absent
    return tree


def release(tree):
    """Returns the release that the source's Makefile names, such as 6.1.192."""
    with open(os.path.join(tree, "Makefile")) as file:
        values = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", file.read(4096), re.M))
    return ".".join(values[k] for k in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def _apply(tree, patch):
    # The trees are inside this project's repository. Without the variable git would take them for
    # a part of it and apply nothing.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(tree)}
    environment.pop("GIT_DIR", None)
    done = subprocess.run(["git", "apply", "-p1", os.path.abspath(patch)], cwd=tree,
                          env=environment, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Broken(f"{os.path.basename(patch)} does not apply: "
                     f"{lines[0] if lines else f'status {done.returncode}'}")


def applies(version, all_series, say=print):
    """Raises Broken if a series does not apply to this version. Unpacks only the files that
    they touch: seconds instead of the minutes and 1.5 GB of a whole tree."""
    touched = set().union(*(one.touched() for one in all_series))
    with tempfile.TemporaryDirectory() as work:
        names = os.path.join(work, "names")
        with open(names, "w") as file:
            file.writelines(f"{PACKAGE.format(version)}/{name}\n" for name in sorted(touched))
        pristine = os.path.join(work, PRISTINE)
        os.makedirs(pristine)
        # tar fails for the files that a series makes, which the archive does not have, after
        # it has unpacked all others; a file missing for another reason makes the patch fail.
        subprocess.run(["tar", "-C", pristine, "--strip-components=1", "-xf",
                        installed_archive(version), "--files-from", names], capture_output=True)
        for one in all_series:
            tree = tempfile.mkdtemp(dir=work)
            shutil.copytree(pristine, tree, dirs_exist_ok=True)
            for patch in one.patches:
                _apply(tree, patch)
            say(f"{one.name}: {len(one.patches)} patches apply to Linux {version}")


def hunks_of(patch):
    """Returns file -> its hunks, and the set of the files that the patch makes."""
    hunks, new, name = collections.Counter(), set(), None
    with open(patch, errors="replace") as file:
        for line in file:
            at = re.match(r"diff --git a/\S+ b/(\S+)", line)
            name = at.group(1) if at else name
            if line.startswith("new file mode"):
                new.add(name)
            if name:
                hunks[name] += line.startswith("@@ ")
    return hunks, new


def in_the_way(tree, wanted):
    """Yields patch, file, the hunks that do not apply to a tree, and how many it has there; of a file that
    the tree has not, all. The patches are applied one after the other, each as far as it can be."""
    with tempfile.TemporaryDirectory() as work:
        for name in wanted.touched():
            if os.path.isfile(os.path.join(tree, name)):
                os.makedirs(os.path.dirname(os.path.join(work, name)), exist_ok=True)
                shutil.copy(os.path.join(tree, name), os.path.join(work, name))
        for patch in wanted.patches:
            hunks, new = hunks_of(patch)
            there = [name for name in hunks if name in new or os.path.exists(os.path.join(work, name))]
            # One file that is not there would keep git from the others.
            subprocess.run(["git", "apply", "--reject", "-p1", *(f"--include={name}" for name in there), os.path.abspath(patch)],
                           cwd=work, capture_output=True)
            for name, all_hunks in hunks.items():
                rejects = os.path.join(work, name + ".rej")
                rejected = 0 if name in there else all_hunks
                if os.path.exists(rejects):
                    with open(rejects, errors="replace") as file:
                        rejected = sum(line.startswith("@@ ") for line in file)
                    os.unlink(rejects)
                if rejected:
                    yield os.path.basename(patch), name, rejected, all_hunks


def _own(path):
    """Replaces a hard link to the pristine file by a copy."""
    copy = path + ".copy"
    shutil.copy2(path, copy)
    os.replace(copy, path)


def _settle(new, old, touched):
    """Gives files with the same content in both trees the old time of modification, others now."""
    now = time.time()
    for name in touched:
        path, before = os.path.join(new, name), os.path.join(old, name)
        if not os.path.exists(path):
            continue
        _own(path)
        if os.path.exists(before) and filecmp.cmp(path, before, shallow=False):
            shutil.copystat(before, path)
        else:
            os.utime(path, (now, now))


def patched(build, version, wanted, say=print):
    """Returns the folder of a copy with the series applied; reuses the copy of an older series."""
    tree = unpack(build, version, say)
    if not wanted.patches:
        return tree
    target = os.path.join(folder(build, version), f"{PATCHED}-{wanted.name}")
    note = os.path.join(target, NOTE)
    touched_before = []
    with contextlib.suppress(OSError), open(note) as file:
        digest, *touched_before = file.read().splitlines()
        if digest == wanted.digest():
            return target
    say(f"applying {len(wanted.patches)} patches to Linux {version}")
    new = target + ".new"
    shutil.rmtree(new, ignore_errors=True)
    _run(["cp", "-al", tree, new])
    for patch in wanted.patches:
        _apply(new, patch)
    touched = wanted.touched()
    if os.path.isdir(target):
        touched |= set(touched_before)
        _settle(new, target, touched)
        shutil.rmtree(target)
    with open(os.path.join(new, NOTE), "w") as file:
        file.write("\n".join([wanted.digest(), *sorted(wanted.touched())]) + "\n")
    os.rename(new, target)
    return target
