# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Projects of others with a compilation database, from Debian's sources.

The commands are those that make would run: nothing is compiled for that, except what
generates headers.
"""

import json
import os
import shlex
import subprocess
import sys

import bench

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "compile-cost"))
import sources

# name -> (Debian's package, what finds its top, commands that configure it, folder to make in,
#          make's arguments)
PROJECTS = {
    "nginx": ("nginx", "configure", [
        # These would want more packages.
        ["./configure", "--without-http_rewrite_module", "--without-http_gzip_module", "--without-pcre"],
    ], ".", []),
    "redis": ("redis", "src/server.c", [["sh", "-c", "cd src && ./mkreleasehdr.sh"]],
              "src", ["MALLOC=libc", "V=1", "redis-server", "redis-cli", "redis-benchmark"]),
    "postgresql": ("postgresql-15", "src/backend/main/main.c", [
        ["./configure", "-q", "--without-readline", "--without-zlib"],
        ["make", "-s", "-C", "src/backend", "generated-headers"],
        # That leaves it out, as only path.c reads it.
        ["make", "-s", "-C", "src/port", "pg_config_paths.h"],
    ], "src/backend", []),
    "openssl": ("openssl", "crypto/mem.c", [
        ["perl", "Configure", "linux-x86_64", "no-tests", "no-shared", "no-module"], ["make", "-s", "build_generated"],
        # build_generated leaves these out.
        ["sh", "-c", "make -s apps/progs.h crypto/buildinf.h "
         "$(grep -oE '^providers/common/include/prov/der_[a-z0-9_]*[.]h' Makefile | sort -u)"],
    ], ".", ["_build_sw"]),
}


def _entries(text, folder):
    """The compile commands of make -n, which says where it is by -w."""
    at, entries = [folder], []
    for line in text.replace("\\\n", " ").splitlines():
        if "Entering directory" in line:
            at.append(line.split("'")[1])
        elif "Leaving directory" in line:
            at.pop()
        for command in line.split(";") if " -c " in line else ():
            try:
                words = shlex.split(command)
            except ValueError:
                continue
            files = [w for w in words if w.endswith((".c", ".cc", ".cpp"))]
            while words and os.path.basename(words[0]) not in ("cc", "gcc", "c++", "g++", "clang"):
                words.pop(0)  # `test -d x || mkdir x`, `printf …`
            if words and len(files) == 1 and os.path.exists(os.path.join(at[-1], files[0])):
                entries.append({"directory": at[-1], "file": files[0], "arguments": words})
    return entries


def prepare(name, folder):
    """(the folder with the database, its number of units)"""
    package, top, commands, inside, options = PROJECTS[name]
    found = sources._unpacked(folder, package, top)
    root = found[:-len(top) - 1]
    place = os.path.join(root, inside)
    database = os.path.join(root, "compile_commands.json")
    if not os.path.exists(database):
        print(f"configuring {name}", flush=True)
        for command in commands:
            done = subprocess.run(command, cwd=root, capture_output=True, text=True)
            if done.returncode:
                raise bench.Broken(f"{name}: {' '.join(command)}: {done.stderr.strip()[-400:]}")
        done = subprocess.run(["make", "-n", "-w", "-k", *options], cwd=place, capture_output=True,
                              text=True, errors="replace")
        entries = _entries(done.stdout, os.path.realpath(place))
        if not entries:
            raise bench.Broken(f"{name}: make -n has no compile commands: {done.stderr.strip()[-400:]}")
        with open(database, "w") as file:
            json.dump(entries, file)
    with open(database) as file:
        return root, len(json.load(file))
