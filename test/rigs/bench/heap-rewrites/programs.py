# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs: what they are made of, how they run, and what the plugin said about them."""

import glob
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(os.path.dirname(HERE), "heap-churn"), os.path.join(os.path.dirname(HERE), "programs")]
import recipes  # noqa: E402
import rows  # noqa: E402

THREADS = 8
SAYS = ["-pass-remarks=vf-heap-churn", "-pass-remarks-missed=vf-heap-churn"]


@dataclass
class Program:
    name: str
    # Of this folder, of the project, or below --src as patterns.
    sources: list
    # Of a run, and of one that only shows that it works.
    arguments: str
    little: str
    flags: tuple = ()
    libraries: tuple = ()
    # Below --src, where headers are.
    includes: tuple = ()
    # Debian packages.
    packages: tuple = ()
    # Copied to "input".
    input: str = ""
    # The file that must be the same, for arguments `same`; without one, what it prints.
    compared: str = ""
    same: str = ""


DEDUP = recipes.RECIPES["dedup"]
PROGRAMS = {p.name: p for p in [
    Program("listing-8.8", ["../heap-churn/workloads.c"], "listing-8.8 16 50", "listing-8.8 16 1"),
    Program("records", ["../../../../examples/heap-churn/records.c"], "16 2000", "4 50"),
    Program("json-jsmn", ["json-jsmn.c"], f"{THREADS} 20", f"{THREADS} 1", packages=("libjsmn-dev",)),
    Program("json-cjson", ["json-cjson.c", "cjson-*/cJSON.c"], f"{THREADS} 4", f"{THREADS} 1", includes=("cjson-*",)),
    Program("json-nlohmann", ["json-nlohmann.cpp"], f"{THREADS} 4", f"{THREADS} 1", packages=("nlohmann-json3-dev",)),
    Program("tokens-stb", ["tokens-stb.c"], f"{THREADS} 20", f"{THREADS} 1", packages=("libstb-dev",)),
    Program("tokens-expat", ["tokens-expat.c", *(f"expat-*/expat/lib/{n}.c" for n in ("xmlparse", "xmlrole", "xmltok"))], f"{THREADS} 10",
            f"{THREADS} 1", flags=("-DXML_DEV_URANDOM", "-DXML_NS", "-DXML_DTD", "-DXML_CONTEXT_BYTES=1024", "-DHAVE_MEMMOVE"),
            includes=("expat-*/expat/lib",)),
    Program("dedup", [*(os.path.join(DEDUP.folder, s) for s in DEDUP.sources), "zlib-*/*.c"],
            DEDUP.arguments.format(threads=4, output="output"), DEDUP.same.format(output="output"),
            flags=(*DEDUP.flags, "-DHAVE_UNISTD_H", "-DHAVE_STDARG_H"), libraries=("-lm",), includes=(DEDUP.folder, "zlib-*"),
            input=DEDUP.input, compared="output", same=DEDUP.same.format(output="output")),
]}


class NotAtHand(Exception):
    """What a program needs is not there; says what."""


def found(pattern, src):
    """The files of a pattern: of this folder, or below --src."""
    files = sorted(glob.glob(os.path.join(HERE, pattern)) or (glob.glob(os.path.join(src, pattern)) if src else []))
    if not files:
        raise NotAtHand(f"--src DIR must have {pattern}")
    return files


def at_hand(program, src, smoke):
    """The program's sources and flags, where they are."""
    if not smoke:
        bench.install(program.packages)
    elif any(subprocess.run(["dpkg-query", "-W", p], capture_output=True).returncode for p in program.packages):
        raise NotAtHand(f"packages {' '.join(program.packages)}")
    files = [f for s in program.sources for f in found(s, src)]
    if program.input and not os.path.exists(program.input):
        raise NotAtHand(program.input)
    return files, [*program.flags, *(f"-I{f}" for i in program.includes for f in found(i, src))]


def build(tree, program, files, flags, folder):
    """Compiles once, and links without and with the plugin: only then is all of the program
    known. Returns variant -> Ready, and what the plugin said."""
    shutil.rmtree(folder, ignore_errors=True)
    compiler = tree.tool("clang++" if any(f.endswith(".cpp") for f in files) else "clang")
    os.makedirs(folder)
    objects = []
    for number, file in enumerate(files):
        objects.append(os.path.join(folder, f"{number}.o"))
        bench.build([compiler, "-O2", "-w", "-flto=thin", "-gline-tables-only", "-pthread", *flags, "-c", file, "-o", objects[-1]])
    plugin = [f"-Wl,--load-pass-plugin={tree.plugin}", *(f"-Wl,-mllvm,{s}" for s in SAYS), *tree.link_flags()]
    ready, said = {}, ""
    for variant, more in (("before", []), ("after", plugin)):
        here = os.path.join(folder, variant)
        os.makedirs(here)
        path = os.path.join(here, program.name)
        said = bench.build([compiler, "-O2", "-flto=thin", "-fuse-ld=lld", "-pthread", *objects, *program.libraries, *more, "-o", path])
        if program.input:
            shutil.copy(program.input, os.path.join(here, "input"))
        ready[variant] = rows.Ready([path, *program.arguments.split()], here)
    return ready, said


# file:line:column: text [page], once for each place that the call was inlined to.
REMARK = re.compile(r"^(?:remark: )?(\S+:\d+:\d+): (.*?) \[[^]]*\.md\]", re.M)


def sites(said):
    """What the plugin rewrote, and why it left what it left: each with how many."""
    done, left = Counter(), Counter()
    for where, text in sorted(set(REMARK.findall(said))):
        why = text.partition("kept: ")[2]
        (left if why else done)[why or text.partition(";")[0]] += 1
    return done, left
