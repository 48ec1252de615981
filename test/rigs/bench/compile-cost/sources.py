# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translation units of real size, and how to get those that are not ours.

Debian's source packages are fetched with apt-get and unpacked here, so neither
dpkg-dev nor deb-src lines in the system's own lists are needed.
"""

import glob
import json
import os
import shlex
import subprocess
from dataclasses import dataclass

import bench


@dataclass
class Source:
    name: str
    path: str
    flags: list


def _unpacked(folder, package, pattern):
    """The file matching pattern in package's upstream source."""

    def found():
        return sorted(glob.glob(os.path.join(folder, package, "*", pattern)))

    if found():
        return found()[0]
    os.makedirs(folder, exist_ok=True)
    print(f"fetching Debian's source of {package}", flush=True)
    download = ["apt-get", "source", "--download-only", "-qq"]
    try:
        done = subprocess.run(download + [package], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            done = subprocess.run(
                download + _own_lists(folder) + [package],
                cwd=folder, capture_output=True, text=True,
            )
    except OSError as error:
        raise bench.Broken(f"cannot fetch {package}: {error}; give sources with --source")
    archives = [
        a for a in glob.glob(os.path.join(folder, f"{package}_*.orig.tar.*")) if a[-4:] != ".asc"
    ]
    if not archives:
        raise bench.Broken(f"apt-get source {package}: {done.stderr.strip()}")
    os.makedirs(os.path.join(folder, package), exist_ok=True)
    bench.build(["tar", "-xf", archives[0], "-C", os.path.join(folder, package)])
    if not found():
        raise bench.Broken(f"{package} has no {pattern}")
    return found()[0]


def _own_lists(folder):
    """apt options that read deb-src lines of our own and touch no system file."""
    lists = os.path.join(folder, "apt")
    os.makedirs(os.path.join(lists, "partial"), exist_ok=True)
    # Beside the lists, not among them: update deletes what it does not know there.
    sources = os.path.join(folder, "sources.list")
    with open(sources, "w") as file:
        file.write(
            "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
            " http://deb.debian.org/debian bookworm main\n"
        )
    options = ["-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=/dev/null",
               "-o", f"Dir::State::Lists={lists}", "-o", "APT::Sandbox::User=root"]
    subprocess.run(["apt-get", *options, "update", "-qq"], capture_output=True)
    return options


def sqlite(folder):
    """SQLite's amalgamation: 8 MB of C in one file, made by its own makefile."""
    configure = _unpacked(folder, "sqlite3", "configure")
    built = os.path.join(folder, "sqlite3-amalgamation")
    made = os.path.join(built, "sqlite3.c")
    if not os.path.exists(made):
        print("generating SQLite's amalgamation", flush=True)
        os.makedirs(built, exist_ok=True)
        for command in ([configure, "--quiet"], ["make", "-s", "sqlite3.c"]):
            try:
                done = subprocess.run(command, cwd=built, capture_output=True, text=True)
            except OSError as error:
                raise bench.Broken(f"{command[0]}: {error}")
            if done.returncode:
                raise bench.Broken(
                    f"{' '.join(command)} in {built}: {done.stderr.strip()[-400:]}\n"
                    "SQLite's amalgamation needs make and tclsh: apt-get install make tcl"
                )
    return Source("sqlite3.c", made, [])


def json_tests(folder):
    """A header-heavy C++ file: the whole nlohmann/json and doctest."""
    path = _unpacked(folder, "nlohmann-json3", "tests/src/unit-conversions.cpp")
    root = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    include = [os.path.join(root, "include"), os.path.join(root, "tests", "thirdparty", "doctest")]
    return Source(
        "nlohmann unit-conversions.cpp", path,
        ["-std=c++17"] + [flag for i in include for flag in ("-isystem", i)],
    )


def own_biggest(tree, count):
    """The project's own largest sources that include LLVM's headers."""
    with open(os.path.join(tree.build, "compile_commands.json")) as file:
        entries = json.load(file)
    ours = [
        e for e in entries
        if e["file"].endswith(".cpp")
        and os.path.relpath(e["file"], tree.source).split(os.sep)[0] in ("passes", "checkers")
        and os.path.exists(e["file"])
    ]
    ours.sort(key=lambda e: os.path.getsize(e["file"]), reverse=True)
    return [
        Source(os.path.relpath(e["file"], tree.source), e["file"], _flags_of(e))
        for e in ours[:count]
    ]


def _flags_of(entry):
    """What the language needs of a compile command: not its output or -O."""
    words = shlex.split(entry["command"])[1:]
    kept, skip = [], False
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word in ("-isystem", "-include"):
            kept += [word, words[i + 1]]
            skip = True
        elif word.startswith(("-I", "-D", "-std", "-f")):
            kept.append(word)
    return kept
