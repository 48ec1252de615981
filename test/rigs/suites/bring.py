# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Brings what suites are made of, Debian's packages and sources, into build/suites.

Installs nothing: packages are unpacked into a folder of ours, so none of their
services start, and root is not needed.
"""

import os
import pwd
import re
import shutil
import subprocess

RELEASE = "bookworm"
ARCHIVE = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class NotRun(Exception):
    """Raised if a suite cannot run here; the message is the reason, in one line. Counts as no pass."""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise NotRun(f"needs {tool}, which is not installed")


def call(command, what, **options):
    """Runs command; if it fails, says so by what and its last line."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines() or ["it says nothing"]
        said = [l for l in lines if re.match(r"(E:|fatal:|error:|.*\berror:)", l)] or lines[-1:]
        raise NotRun(f"{what}: {said[0]}")
    return done.stdout


def output(command, timeout, **options):
    """Returns the output of command, whatever its status."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, timeout=timeout, **options).stdout
    except subprocess.TimeoutExpired as hangs:
        return (hangs.stdout or b"").decode(errors="replace")


def not_as_root():
    """What to put before a command of programs that refuse to run as root: a user
    namespace in which root is nobody, and still owns its files."""
    if os.geteuid() != 0:
        return []
    need("unshare")
    nobody = pwd.getpwnam("nobody")
    prefix = ["unshare", f"--map-user={nobody.pw_uid}", f"--map-group={nobody.pw_gid}"]
    call([*prefix, "true"], "must not run as root, and this kernel or container gives root no "
         "user namespace")
    return prefix


class Once:
    """Keeps what it took to make a folder: `with Once(folder, key) as todo: if todo:`
    The folder is empty then. Made with another key or not to its end: made again."""

    def __init__(self, folder, key):
        self.folder, self.key = folder, key
        self.stamp = os.path.join(folder, ".made")

    def __enter__(self):
        try:
            self.todo = open(self.stamp).read() != self.key
        except OSError:
            self.todo = True
        if self.todo:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.makedirs(self.folder)
        return self.todo

    def __exit__(self, kind, *_):
        if self.todo and kind is None:
            with open(self.stamp, "w") as file:
                file.write(self.key)


class Debian:
    """Debian's archive of the release whose glibc libvfpthread knows. Its lists
    are ours, so that it matters not which archives this machine uses."""

    def __init__(self, shared):
        self.shared = shared
        self.listed = False

    def _options(self):
        lists = os.path.join(self.shared, "apt")
        os.makedirs(os.path.join(lists, "lists", "partial"), exist_ok=True)
        os.makedirs(os.path.join(lists, "cache"), exist_ok=True)
        sources = os.path.join(lists, "sources.list")
        signed = f"[signed-by={KEYRING}]" if os.path.exists(KEYRING) else ""
        with open(sources, "w") as file:
            for kind in ("deb", "deb-src"):
                file.write(f"{kind} {signed} {ARCHIVE} {RELEASE} main\n")
        # What is downloaded is checked by the archive's keys, as ever; it lies where the
        # user _apt may not look.
        return ["-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=/dev/null",
                "-o", f"Dir::State::Lists={lists}/lists", "-o", f"Dir::Cache={lists}/cache",
                "-o", "Acquire::Retries=3", "-o", "APT::Sandbox::User=root",
                "-o", "APT::Get::List-Cleanup=0"]

    def _apt(self, *arguments, **options):
        need("apt-get", "dpkg-deb", "dpkg-source")
        if not self.listed:
            call(["apt-get", *self._options(), "update", "-q", "-o", "APT::Update::Error-Mode=any"],
                 "cannot get Debian's package lists")
            self.listed = True
        return call(["apt-get", *self._options(), *arguments],
                    f"cannot get {' '.join(arguments[1:])} of Debian", **options)

    def library_path(self, root):
        """Returns an environment in which its libraries are found before those of the machine."""
        return {"LD_LIBRARY_PATH": os.path.join(root, "usr/lib/x86_64-linux-gnu")}

    def packages(self, root, names, alone=()):
        """Unpacks into root names with all they need that this machine has not,
        and alone as they are."""
        with Once(root, " ".join([RELEASE, *names, "+", *alone])) as todo:
            if not todo:
                return root
            wanted = set(names) | set(alone)
            if names:
                plan = self._apt("-s", "--no-install-recommends", "install", *names)
                wanted |= set(re.findall(r"^Inst (\S+) ", plan, re.M))
            debs = os.path.join(root, ".debs")
            os.makedirs(debs)
            self._apt("download", *sorted(wanted), cwd=debs)
            for deb in sorted(os.listdir(debs)):
                call(["dpkg-deb", "-x", os.path.join(debs, deb), root], f"cannot unpack {deb}")
            shutil.rmtree(debs)
            _relink(root)
        return root

    def source(self, folder, name):
        """Unpacks the source of a package, with Debian's patches, into folder/source."""
        with Once(folder, f"{RELEASE} {name}") as todo:
            if todo:
                self._apt("source", name, cwd=folder)
                made = [e for e in os.scandir(folder) if e.is_dir()]
                if len(made) != 1:
                    raise NotRun(f"the source package {name} has {len(made)} folders")
                os.rename(made[0].path, os.path.join(folder, "source"))
        return os.path.join(folder, "source")


def _relink(root):
    """Links from the top of the file system, if they lead into a package, stay in root."""
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                continue
            to = os.readlink(path)
            if to.startswith("/") and os.path.lexists(root + to):
                os.remove(path)
                os.symlink(os.path.relpath(root + to, folder), path)
