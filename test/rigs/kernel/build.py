# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Configures and builds a kernel, once for each series, configuration and compiler.

In build/kernel/VERSION are, beside the sources,
  objects-KIND       what make works in; KIND is the compiler, HZ, and so on, so that
                     another series compiles only what it changes
  image-KIND-DIGEST  bzImage and .config, kept; the digest is of all that went into it
"""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass

from guest import Broken, packages

from kernel import source

HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG = os.path.join(HERE, "Inputs", "kernel.config")
# Options for one version only; the file need not exist.
CONFIG_OF = os.path.join(HERE, "Inputs", "kernel-{}.config")
IMAGE = os.path.join("arch", "x86", "boot", "bzImage")
LOG_LINES = 12

# What the kernel's make needs; flex, bison: Kconfig; bc: HZ's constants; libelf, libssl:
# objtool and keys.
PACKAGES = ("make", "gcc", "libc6-dev", "flex", "bison", "bc", "libelf-dev", "libssl-dev", "cpio",
            "kmod", "xz-utils", "python3")
# Name -> program, packages, and arguments of make.
COMPILERS = {
    "gcc": ("gcc", (), ()),
    # All of LLVM's: linker, archiver, objcopy.
    "clang": ("clang-22", ("clang-22", "lld-22", "llvm-22"), ("LLVM=-22",)),
}
# The tick rates that Kconfig offers.
HZ = (100, 250, 300, 1000)
# User, host and time are compiled in; constant, so that equal kernels are equal files.
ENVIRONMENT = {"KBUILD_BUILD_USER": "vfriendly", "KBUILD_BUILD_HOST": "vfriendly",
               "KBUILD_BUILD_TIMESTAMP": "1970-01-01"}


@dataclass(frozen=True)
class Kind:
    version: str = "6.1"
    compiler: str = "gcc"
    hz: int = 250
    nohz_full: bool = False

    def name(self):
        return f"{self.compiler}-hz{self.hz}{'-nohz-full' if self.nohz_full else ''}"


def config(kind, more=()):
    """Returns the lines of Inputs/kernel.config, of the files more, and of the kind."""
    lines, own = [], CONFIG_OF.format(kind.version)
    for path in (CONFIG, *([own] if os.path.exists(own) else []), *more):
        with open(path) as file:
            lines += file.read().splitlines()
    lines += [f"CONFIG_HZ_{kind.hz}=y", f"CONFIG_HZ={kind.hz}",
              f"CONFIG_NO_HZ_{'FULL' if kind.nohz_full else 'IDLE'}=y"]
    return lines


def options(lines):
    """Returns name -> value of each option; "n" if it is not set."""
    found = {}
    for line in lines:
        given = re.fullmatch(r"(CONFIG_\w+)=(.*)|# (CONFIG_\w+) is not set", line.strip())
        if given:
            found[given.group(1) or given.group(3)] = given.group(2) or "n"
    return found


def differences(asked, got):
    """Returns a line for each option that differs from the one asked for. An option that is asked
    to be off may be unknown to the kernel."""
    asked, got = options(asked), options(got)
    return [f"{name} is {got.get(name, 'n')}, not {value}" for name, value in asked.items()
            if got.get(name, "n") != value]


def compiler(kind):
    """Returns the compiler's version, which is a part of a kernel's digest; None without one."""
    try:
        done = subprocess.run([COMPILERS[kind.compiler][0], "--version"], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.splitlines()[0] if done.stdout else None


def _digest(version, kind, series, lines):
    text = "\n".join([version, compiler(kind) or "", series.digest(), *lines])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _target(build, kind, series, more):
    """Returns the kernel's folder, which need not exist yet; None without source or compiler."""
    folder = source.folder(build, kind.version)
    pristine = source.unpacked(build, kind.version)
    if not pristine or not compiler(kind):
        return None
    digest = _digest(source.release(pristine), kind, series, config(kind, more))
    return os.path.join(folder, f"image-{series.name}-{kind.name()}-{digest}")


def _kernel(target, kind, series):
    name = f"Linux {open(os.path.join(target, 'release')).read().strip()} {series.name} {kind.name()}"
    return packages.Kernel(name, os.path.join(target, "bzImage"), [])


def built(build, kind, series, more=()):
    """Returns the kernel if it was built before, else None. Builds and fetches nothing."""
    target = _target(build, kind, series, more)
    return _kernel(target, kind, series) if target and os.path.isdir(target) else None


def excerpt(lines):
    """Returns LOG_LINES lines from the first error on, as parallel jobs print after it; without
    an error, the last lines."""
    first = next((i for i, line in enumerate(lines) if re.search(r"\berror:|\*\*\* ", line)), None)
    begin = max(0, len(lines) - LOG_LINES if first is None else first - 1)
    return lines[begin:begin + LOG_LINES]


def ready(build, kind, series, more=()):
    """Returns True if the kernel can be booted without building or fetching anything."""
    return bool(built(build, kind, series, more) and packages.ready(os.path.join(build, "guest")))


class Make:
    """Runs make in a tree, writes its output to a log, and reports progress."""

    def __init__(self, tree, objects, kind, progress):
        self.tree, self.objects, self.progress = tree, objects, progress
        self.log = os.path.join(objects, "make.log")
        self.jobs = f"-j{len(os.sched_getaffinity(0))}"
        self.command = ["make", "-C", tree, f"O={objects}", self.jobs, "ARCH=x86_64",
                        *COMPILERS[kind.compiler][2]]
        os.makedirs(objects, exist_ok=True)
        open(self.log, "w").close()

    def __call__(self, what, *targets, **environment):
        """Raises Broken with the first error if make fails."""
        done = 0
        with open(self.log, "a") as log, subprocess.Popen(
            [*self.command, *targets], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
            env={**os.environ, **ENVIRONMENT, **environment},
        ) as child:
            try:
                for line in child.stdout:
                    log.write(line)
                    log.flush()
                    done += bool(re.match(r"  (CC|AS|LD|AR|CLANG) ", line))
                    self.progress.at(f"{what}: {done} objects")
            except BaseException:
                child.kill()
                raise
        if child.returncode:
            with open(self.log, errors="replace") as file:
                found = excerpt(file.read().rstrip().splitlines())
            raise Broken("\n".join([f"{what} failed with status {child.returncode}, see {self.log}:",
                                    *found]))


def _configure(make, lines):
    """Writes .config only if it changes, or make would check all objects again."""
    wanted = os.path.join(make.objects, "vfriendly.config")
    text = "\n".join(lines) + "\n"
    there = os.path.exists(wanted) and os.path.exists(os.path.join(make.objects, ".config"))
    if not there or open(wanted).read() != text:
        with open(wanted, "w") as file:
            file.write(text)
        make("configuring", "allnoconfig", KCONFIG_ALLCONFIG=wanted)
    else:
        make("configuring", "olddefconfig")  # the series may have new options
    with open(os.path.join(make.objects, ".config")) as file:
        wrong = differences(lines, file.read().splitlines())
    if wrong:
        os.unlink(wanted)
        raise Broken(f"the kernel in {make.tree} cannot be configured as asked for: {'; '.join(wrong)}")


def kernel(build, kind, series, more, progress, say=print):
    """Builds the kernel if it was not built before. more are further files with options."""
    found = built(build, kind, series, more)
    if found:
        return found
    packages.install([*PACKAGES, *COMPILERS[kind.compiler][1]])
    with source.locked(build):
        source.unpack(build, kind.version, say)
        target = _target(build, kind, series, more)
        if not target:
            raise Broken(f"there is no {kind.compiler} here")
        if os.path.isdir(target):  # another process has built it meanwhile
            return _kernel(target, kind, series)
        say(f"building Linux {kind.version}, {series.name}, {kind.name()}")
        began = time.monotonic()
        make = prepared(build, kind, series, more, progress, say)
        make("building", "bzImage")
        progress.end()
        _keep(make.objects, target)
        say(f"built in {time.monotonic() - began:.0f} s")
        return _kernel(target, kind, series)


def objects(build, kind, series, more, progress, say=print):
    """Compiles only the files that the series touches, to find errors without a whole build."""
    packages.install([*PACKAGES, *COMPILERS[kind.compiler][1]])
    with source.locked(build):
        make = prepared(build, kind, series, more, progress, say)
        # tools/ has makefiles of its own.
        names = sorted({unit(make.tree, name)[:-2] + ".o" for name in series.touched()
                        if name.endswith(".c") and not name.startswith("tools/")})
        make("preparing", "prepare")
        make("compiling", *names)
        progress.end()
        say(f"compiled {', '.join(names)}")


def unit(tree, name):
    """Returns the file to compile for name: name itself, or the file of the same folder that
    includes it, as in kernel/sched."""
    folder, base = os.path.split(name)
    for other in sorted(glob.glob(os.path.join(tree, folder, "*.c"))):
        with open(other, errors="replace") as file:
            if f'#include "{base}"' in file.read():
                return os.path.join(folder, os.path.basename(other))
    return name


def prepared(build, kind, series, more, progress, say):
    """Applies the series, configures the kernel, and returns the Make for it."""
    tree = source.patched(build, kind.version, series, say)
    folder = source.folder(build, kind.version)
    make = Make(tree, os.path.join(folder, f"objects-{series.name}-{kind.name()}"), kind, progress)
    _configure(make, config(kind, more))
    return make


def _keep(objects, target):
    new = target + ".new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    shutil.copy(os.path.join(objects, IMAGE), os.path.join(new, "bzImage"))
    for name in (".config", "System.map"):
        shutil.copy(os.path.join(objects, name), new)
    with open(os.path.join(objects, "include", "config", "kernel.release")) as file:
        release = file.read()
    with open(os.path.join(new, "release"), "w") as file:
        file.write(release)
    os.rename(new, target)
