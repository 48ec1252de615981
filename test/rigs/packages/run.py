# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""run.py [--reproduce] [--try] [--try-source] [--try-on DISTRIBUTION] [--try-action] BUILD [BUILD_OF_ANOTHER_LLVM...]: makes the packages and tries them.

The first build tree makes all packages and the archive, each other one the plugin and the
clang-tidy module for its LLVM. --try makes a bare Debian 12 in a folder, installs the
packages there, rewrites a program, upgrades and removes them, and prints how long each step
took and how much it added. --try-on does less, on Debian 12, 13, Ubuntu 22.04 or 24.04, with
LLVM 22 or 19 if its archive has one: the .debs and the wheel are installed, used and removed. --try-action
runs the workflow for GitHub. For these it must be root, and needs no more network than apt; --try-on also pip's.
--reproduce builds what is committed in two folders, and compares the packages.
"""

import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import action
import canonical
import wheel
from roots import CERTIFICATES, DISTRIBUTIONS, bootstrap

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "..")
# A mount namespace of its own, so that /proc is gone with the step.
ENTER = 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -euc "$1"'


def check_allocator(build):
    """Ends the program if the packages would have another allocator than those of a build with a network."""
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        why = re.search(r"^VF_JEMALLOC_NOT_BUILT:INTERNAL=(.+)$", file.read(), re.M)
    if why:
        sys.exit(f"dev package: this build's libvfmalloc.so has the system's jemalloc, as its own could not be built: {why.group(1)}\n"
                 "mend that and run `cmake build`, or choose the system's: cmake -DVF_JEMALLOC_BUILD=OFF build")


def make(build, generators, components=None):
    command = ["cpack", "-G", generators, "--config", os.path.join(build, "CPackConfig.cmake")]
    if components:
        command += ["-D", f"CPACK_COMPONENTS_ALL={components}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"dev package: cpack failed in {build}:\n{done.stdout}{done.stderr}")


def size_of(folder):
    return int(subprocess.run(["du", "-sxm", folder], capture_output=True, text=True,
                              check=True).stdout.split()[0])


def add_llvm(archive, other):
    """Adds the plugin and the checks of the archive OTHER, for another LLVM, to ARCHIVE."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
        subprocess.run(["tar", "-xf", other, "-C", folder, "--wildcards", "*/lib/vfriendly/llvm-*"], check=True)
        [top] = os.listdir(folder)
        subprocess.run(["tar", "-czf", archive, "--owner=0", "--group=0", "-C", folder, top], check=True)


class Root:
    """A bare Debian in a folder, and the steps that were run in it."""

    def __init__(self, folder):
        self.folder = folder
        self.size = 0

    def run(self, what, script):
        start = time.monotonic()
        done = subprocess.run(["unshare", "--mount", "/bin/sh", "-euc", ENTER, self.folder, script],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                                   "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8",
                                   "PIP_CERT": "/srv/certificates.crt"})
        seconds = time.monotonic() - start
        if done.returncode:
            sys.exit(f"dev package: {what} failed:\n{script}\n{done.stdout}{done.stderr}")
        before, self.size = self.size, size_of(self.folder)
        print(f"{seconds:6.1f} s  {self.size - before:+5d} MB  {what}", flush=True)
        return done.stdout + done.stderr


def try_steps(name, build, inputs, distribution="debian-12"):
    """Runs the steps of the file name in a bare root that has the folders inputs below /srv. Steps
    whose heading ends with "(LLVM)" are left out where the archive has no LLVM that is supported."""
    suite, llvm = DISTRIBUTIONS[distribution]
    with tempfile.TemporaryDirectory(prefix="vf-root-") as folder:
        bootstrap(folder, os.path.join(build, f"{suite}.tar"), suite)
        root = Root(folder)
        root.size = size_of(folder)
        print(f"bare {distribution}: {root.size} MB" + (f", LLVM {llvm}" if llvm else ", neither LLVM 22 nor 19 in its archive"))
        for below, source in inputs.items():
            shutil.copytree(source, os.path.join(folder, "srv", below))
        shutil.copy(CERTIFICATES, os.path.join(folder, "srv/certificates.crt"))
        start = time.monotonic()
        steps = open(os.path.join(HERE, name)).read().split("\n== ")[1:]
        for step in steps:
            what, script = step.split("\n", 1)
            if what.endswith("(LLVM)") and not llvm:
                continue
            script = script.replace("@LLVM@", str(llvm))
            wanted = [line[8:] for line in script.splitlines() if line.startswith("expect: ")]
            script = "\n".join(line for line in script.splitlines() if not line.startswith("expect: "))
            said = root.run(what, script)
            for words in wanted:
                if words not in said:
                    sys.exit(f"dev package: {what}: '{words}' is not in:\n{said}")
        print(f"{time.monotonic() - start:6.1f} s in all")


def try_action(build, packages):
    """Runs the workflow for GitHub in a bare Debian 12: the change is annotated, and fails."""
    with tempfile.TemporaryDirectory(prefix="vf-root-") as folder:
        bootstrap(folder, os.path.join(build, "bookworm.tar"), "bookworm")
        root = Root(folder)
        root.size = size_of(folder)
        shutil.copytree(os.path.join(HERE, "project"), os.path.join(folder, "srv/project"))
        said = action.run(root, packages)
        print(said, end="")
        if "::warning file=wait.c" not in said or "step ended with 1" not in said:
            sys.exit("dev package: the change is not annotated")


def packages_of(commit, folder, build, umask):
    """Builds a commit and its packages in FOLDER; returns their checksums."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": epoch()}
    for what in (["git", "clone", "--quiet", "--no-checkout", SOURCE, folder], ["git", "-C", folder, "checkout", "--quiet", commit],
                 ["cmake", "--preset", "dev", "-S", folder, "-B", f"{folder}/{build}", "-DVF_BUILD_TESTS=OFF"],
                 ["cmake", "--build", f"{folder}/{build}"], [sys.executable, f"{folder}/test/rigs/packages/run.py", f"{folder}/{build}"]):
        done = subprocess.run(what, capture_output=True, text=True, umask=umask, env=environment, check=False)
        if done.returncode:
            sys.exit(f"dev package: {' '.join(what)} failed:\n{done.stdout}{done.stderr}")
    with open(f"{folder}/{build}/packages/SHA256SUMS") as file:
        return dict(line.split()[::-1] for line in file)


def reproduce():
    """Builds what is committed in two folders, at two times and with two umasks; ends the program if a package differs."""
    commit = git("rev-parse", "HEAD")
    with tempfile.TemporaryDirectory(prefix="vf-one-") as one, tempfile.TemporaryDirectory(prefix="vf-another-folder-") as other:
        first = packages_of(commit, f"{one}/tree", "build", 0o022)
        second = packages_of(commit, f"{other}/below/vfriendly", "build-2", 0o077)
    different = [name for name in sorted({*first, *second}) if first.get(name) != second.get(name)]
    for name in sorted(first):
        print(f"{first[name]}  {name}")
    if different:
        sys.exit(f"dev package: not the same in two folders: {', '.join(different)}")
    print(f"{len(first)} packages of {commit[:8]}, built in two folders, are the same")


def git(*words):
    return subprocess.run(["git", "-C", SOURCE, *words], capture_output=True, text=True, check=False).stdout.strip()


def epoch():
    """The time that packages name: that of the commit, unless SOURCE_DATE_EPOCH says another."""
    return os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or "0"


def clone(folder):
    """A bare clone of what is committed here, for a newcomer to clone."""
    done = subprocess.run(["git", "clone", "--quiet", "--bare", SOURCE, folder], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"dev package: git clone failed:\n{done.stderr}")
    return folder


def main():
    parser = argparse.ArgumentParser(prog="dev package")
    parser.add_argument("--reproduce", action="store_true")
    parser.add_argument("--try", action="store_true", dest="tried")
    parser.add_argument("--try-source", action="store_true")
    parser.add_argument("--try-on", choices=DISTRIBUTIONS, action="append", default=[])
    parser.add_argument("--try-action", action="store_true")
    parser.add_argument("build")
    parser.add_argument("others", nargs="*")
    args = parser.parse_args()
    if args.reproduce:
        reproduce()
        return
    os.environ["SOURCE_DATE_EPOCH"] = epoch()
    build = os.path.abspath(args.build)
    check_allocator(build)
    packages = os.path.join(build, "packages")
    shutil.rmtree(packages, ignore_errors=True)
    make(build, "DEB;TGZ")
    [archive] = glob.glob(os.path.join(packages, "*.tar.gz"))
    for other in args.others:
        shutil.rmtree(os.path.join(other, "packages"), ignore_errors=True)
        make(other, "DEB;TGZ", "plugin;tidy")
        for deb in glob.glob(os.path.join(other, "packages", "*.deb")):
            shutil.copy(deb, packages)
        add_llvm(archive, *glob.glob(os.path.join(other, "packages", "*.tar.gz")))
    shutil.rmtree(os.path.join(packages, "_CPack_Packages"), ignore_errors=True)
    for name in [archive, *glob.glob(os.path.join(packages, "*.deb"))]:
        canonical.rewrite(name)
    wheel.make(archive, packages)
    names = sorted(os.listdir(packages))
    # For checkers/cli/integrations/install.sh, which installs what a release has.
    with open(os.path.join(packages, "SHA256SUMS"), "w") as file:
        for name in names:
            with open(os.path.join(packages, name), "rb") as package:
                file.write(f"{hashlib.file_digest(package, 'sha256').hexdigest()}  {name}\n")
    for name in names:
        print(f"{os.path.getsize(os.path.join(packages, name)) / 1024:7.0f} KiB  {name}")
    if (args.tried or args.try_source or args.try_on or args.try_action) and os.geteuid():
        sys.exit("dev package: --try makes a root to change into: run it as root")
    project = os.path.join(HERE, "project")
    if args.tried:
        try_steps("steps.txt", build, {"packages": packages, "project": project})
        try_steps("steps-measure.txt", build, {"packages": packages})
    if args.try_action:
        try_action(build, packages)
    for distribution in args.try_on:
        try_steps("steps-distribution.txt", build, {"packages": packages, "project": project}, distribution)
    if args.try_source:
        with tempfile.TemporaryDirectory(prefix="vf-clone-") as folder:
            try_steps("steps-source.txt", build, {"vfriendly.git": clone(os.path.join(folder, "bare")), "project": project})


if __name__ == "__main__":
    main()
