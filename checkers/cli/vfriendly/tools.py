# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy and the libraries it loads: where they are, and whether they work together."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from vfriendly.errors import Refused

MODULE = "libvfriendly-tidy.so"
PLUGIN = "libvfriendly.so"
# Seconds after which a tool that prints nothing when it starts is assumed to hang.
START_SECONDS = 60
BUILT_FOR = int(os.environ.get("VFRIENDLY_BUILT_FOR", "22"))


@functools.cache
def llvm() -> int:
    """Returns the LLVM of VFRIENDLY_LLVM, else the first with clang-tidy: the build's, then others with a module."""
    asked = os.environ.get("VFRIENDLY_LLVM")
    if asked:
        if not re.fullmatch("[0-9]+", asked):
            raise Refused(f"VFRIENDLY_LLVM is '{asked}', which is no number of an LLVM: {BUILT_FOR}, for example")
        return int(asked)
    modules = Path(os.environ.get("VFRIENDLY_LIB", "/usr/lib")).glob(f"vfriendly/llvm-*/{MODULE}")
    found = [path.parent.name.removeprefix("llvm-") for path in modules]
    for version in (BUILT_FOR, *sorted((int(v) for v in found if v.isdecimal()), reverse=True)):
        if any(map(shutil.which, (f"/usr/lib/llvm-{version}/bin/clang-tidy", f"clang-tidy-{version}"))):
            return version
    return BUILT_FOR


def llvm_bin() -> str:
    return f"/usr/lib/llvm-{llvm()}/bin"


@dataclass(frozen=True)
class Tools:
    clang_tidy: str
    module: str
    checks: str
    listed: tuple[str, ...]
    identity: str  # differs if another clang-tidy or module would be run
    clang: str = ""
    plugin: str = ""
    plugin_identity: str = ""


def program(name: str, given: str | None) -> str:
    """Returns the path of an LLVM tool: the given one, else that in this LLVM's folder, else that on PATH."""
    if given:
        found = shutil.which(given)
        if not found:
            raise Refused(f"{given}: no such program")
        return os.path.abspath(found)
    for candidate in (f"{llvm_bin()}/{name}", f"{name}-{llvm()}", name):
        found = shutil.which(candidate)
        if found:
            return found
    raise Refused(f"{name} of LLVM {llvm()} is not installed: apt-get install clang-tidy-{llvm()} "
                  f"clang-{llvm()}, or name one with --{name} FILE")


def library(name: str, given: str | None, option: str) -> str:
    folders = [os.environ.get("VFRIENDLY_LIB"), f"{sys.prefix}/lib", "/usr/local/lib",
               sysconfig.get_config_var("LIBDIR"), "/usr/lib"]
    # What belongs to one version of LLVM is in a folder named after it; what belongs to none, in that of the build's.
    version = llvm() if name in (MODULE, PLUGIN) else BUILT_FOR
    parts = (f"vfriendly/llvm-{version}", "")
    found = [Path(f) / part / name for f in folders if f for part in parts]
    for path in [Path(given)] if given else found:
        if path.is_file():
            return str(path.resolve())
    if given:
        raise Refused(f"{given}: no such file")
    raise Refused(f"{name} was not found: build it with ./dev build, name it with {option} FILE, "
                  "or set VFRIENDLY_LIB to its folder")


def library_folder() -> str:
    """Returns the folder with libvfrt, of the build or the installation."""
    folders = [os.environ.get("VFRIENDLY_LIB"), f"{sys.prefix}/lib", "/usr/local/lib", "/usr/lib"]
    return next((f for f in folders if f and any(Path(f).glob("libvfrt.*"))), "/usr/lib")


def headers() -> str:
    """Returns the folder that has the runtime's headers: beside its library, or in the sources; "" if there is none."""
    folders = [Path(library_folder()).resolve().parent / "include",
               Path(__file__).resolve().parents[3] / "runtime/include"]
    return next((str(f) for f in folders if (f / "vfriendly" / "spin_wait.h").is_file()), "")


def digest_of(path: str) -> str:
    with open(path, "rb") as file:
        return digest_of_file(file)


def digest_of_file(file: BinaryIO) -> str:
    digest = hashlib.sha256()  # hashlib.file_digest is Python 3.11's
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def output(command: Sequence[str], cwd: str | None = None) -> tuple[int, str, str]:
    """Returns status, stdout and stderr. Raises Refused if the command does not end soon."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=cwd,
                              stdin=subprocess.DEVNULL, timeout=START_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"{command[0]} does not run: {error}") from error
    return done.returncode, done.stdout, done.stderr


# Not run unless they are named: more than one in ten of what they reported in the first runs on projects that no
# check was made for was false. Of `consecutive` five of six judged reports were of code that seldom runs, of
# `parallel-update` all nine, of `growth` two of ten; `monitor` reported two locks that are taken again on purpose. Of
# `loop-allocation` 20 of 71 were: only a run tells what is hot, so it runs with a profile of the blocks. Of
# `signal-locked` three of ten were. Of `serial-init` 24 of 120 in five such runs, many of them small arrays: only a
# run tells their size, and it gains only on several nodes.
BY_REQUEST = ("heap-churn-consecutive", "heap-churn-growth", "blocking-sync-monitor", "blocking-sync-parallel-update",
              "blocking-sync-signal-locked", "heap-churn-loop-allocation", "numa-placement-serial-init")
WITH_BLOCKS = ("heap-churn-growth", "heap-churn-loop-allocation")
# The checks that run unless others are named.
DEFAULT = ",".join(["vfriendly-*", *(f"-vfriendly-{check}" for check in BY_REQUEST)])
# The same with a profile of the blocks of memory: findings about memory that the run did not take are left out.
DEFAULT_WITH_BLOCKS = ",".join([DEFAULT, *(f"vfriendly-{check}" for check in WITH_BLOCKS)])


def find(clang_tidy: str | None, module: str | None, checks: str) -> Tools:
    """Refuses unless clang-tidy loads the module and has the checks.

    clang-tidy goes on without a module that it cannot load, finds nothing and returns 0;
    so its list of checks is asked for, before any unit.
    """
    tidy = program("clang-tidy", clang_tidy)
    library_path = library(MODULE, module, "--module")
    wanted = f"-*,{checks}"
    # Runs clang-tidy in the root folder, where no project's .clang-tidy applies.
    status, out, err = output([tidy, f"--load={library_path}", f"--checks={wanted}",
                                "--list-checks"], cwd="/")
    if "load request ignored" in err or status < 0:
        told = next((line for line in err.splitlines() if line.strip()), f"status {status}")
        raise Refused(f"{tidy} cannot load {library_path}: {told.strip()[:300]}")
    names = tuple(w for line in out.splitlines()[1:] for w in line.split())
    if status or not names:
        # Status 1 means that --checks matches no check, so the list of all checks tells whether the
        # module has been loaded.
        _, every, _ = output([tidy, f"--load={library_path}", "--checks=*", "--list-checks"], "/")
        if "vfriendly-" not in every:
            raise Refused(f"{tidy} has no vfriendly checks after loading {library_path}: "
                          f"the module needs clang-tidy {llvm()}")
        raise Refused(f"no check matches --checks '{checks}': {tidy} --load={library_path} "
                      "--checks='vfriendly-*' --list-checks prints their names")
    _, version, _ = output([tidy, "--version"])
    found = re.search(r"version (\d+)", version)
    if not found or int(found.group(1)) != llvm():
        raise Refused(f"{tidy} is of version {found.group(1) if found else 'unknown'}, "
                      f"the module needs {llvm()}")
    stat = os.stat(os.path.realpath(tidy))
    identity = hashlib.sha256(repr(
        (version, stat.st_size, stat.st_mtime_ns, digest_of(library_path), wanted)
    ).encode()).hexdigest()
    return Tools(tidy, library_path, wanted, names, identity)


def with_plugin(tools: Tools, clang: str | None, plugin: str | None) -> Tools:
    """Adds what --remarks needs. Refuses unless clang loads the plugin."""
    compiler, library_path = program("clang", clang), library(PLUGIN, plugin, "--plugin")
    status, _, err = output([compiler, f"-fpass-plugin={library_path}", "-x", "c", "-c",
                              os.devnull, "-o", os.devnull])
    if status:
        told = next((line for line in err.splitlines() if line.strip()), f"status {status}")
        raise Refused(f"{compiler} cannot load {library_path}: {told.strip()[:300]}")
    _, version, _ = output([compiler, "--version"])
    identity = hashlib.sha256(f"{version}{digest_of(library_path)}".encode()).hexdigest()
    return replace(tools, clang=compiler, plugin=library_path, plugin_identity=identity)
