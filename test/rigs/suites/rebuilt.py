#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds programs of others with libvfriendly.so, all passes on, and runs their own tests.

  rebuilt.py BUILD [NAME...] [--again] [--out DIR]

A program is a package of packages.py, or a file of rebuilt/, which has
  SENTENCE                           what it is, and which of its tests run
  prepare(place) -> source           brings the source; raises NotRun
  build(source, folder, cc, cxx)     a build of its own in folder, by `cc`; returns what make said
  test(source, folder) -> {test: passed}

Each is built by clang -O2 -g as it is, and with vfriendly.cfg: all passes and libvfrt; one with
-flto, in which case the linker runs the passes, too. The compiler verifies each module. What passes
in the one and not in the other is told, if a second run says the same. So is what the passes
rewrote: a remark names each place once. The result of each program is kept in NAME.json, and
taken from there as long as neither the package nor the passes change, unless --again.
rebuilt.json has the results of the call, for guidelines/figures.py.
Exit status: 0 if all is the same, 1 if not, 2 on a usage error, 3 if something was not run.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import sys
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "bench"))

import bench
import bring
import packages
from run import Place, load_file

FOLDER = os.path.join(HERE, "rebuilt")
CLANG, CLANGXX = "clang-22", "clang++-22"
PASSES = ("vf-heap-churn", "vf-spin-loops")
# What Clang 22 objects to in sources of 2022.
OLDER = "-Wno-error -Wno-reserved-user-defined-literal"
# What vfriendly.cfg names, beside itself.
FILES = ("vfriendly.cfg", "libvfriendly.so", "vfrt-link.o", "libvfrt.a")
REMARK = re.compile(r"^(\S+:\d+:\d+): remark: (.*) \[-R(pass|pass-missed|pass-analysis)=(vf-[\w-]+)\]$", re.M)


def programs(folder):
    """Returns the programs in a folder; in our own folder also those of Debian's packages."""
    found = {f[:-3]: load_file(f[:-3], os.path.join(folder, f)) for f in sorted(os.listdir(folder)) if f.endswith(".py")}
    return dict(sorted({**found, **(packages.PACKAGES if folder == FOLDER else {})}.items()))


def compilers(config, place, lto):
    """Writes the compilers as scripts, as some build systems take no compiler with arguments."""
    # Of two options -Rpass= the compiler takes the last.
    remarks = " ".join(f"'-Rpass{kind}=^({'|'.join(PASSES)})$'" for kind in ("", "-missed"))
    made = {}
    # Debug information is where invalid IR shows; a released clang verifies only what it is told to.
    both = "-g -fverify-intermediate-code" + (" -flto -fuse-ld=lld" if lto else "")
    plugin = os.path.join(os.path.dirname(config), "libvfriendly.so")
    linker = f" -Wl,--load-pass-plugin={plugin}" if lto else ""
    for way, arguments in (("without", both), ("with", f"--config={config} {both}{linker} {remarks}")):
        made[way] = []
        for name in (CLANG, CLANGXX):
            path = place.path(f"{name}-{way}")
            made[way].append(path)
            with open(path, "w") as script:
                script.write(f'#!/bin/sh\nexec {name} {arguments} "$@" {OLDER}\n')
            os.chmod(path, 0o755)
    return made


def counted(said):
    """Returns the allocations that the remarks name, as {what: sites}."""
    sites = {}
    for where, text, kind, name in REMARK.findall(said):
        if name == "vf-heap-churn":
            what = text.split(" [")[0]
            sites[where] = what.split("kept: ")[-1] if kind == "pass-missed" else what
    # Sizes are of no interest here.
    return Counter(re.sub(r"\d+ bytes", "N bytes", what) for what in sites.values())


def rewritten(said):
    """Returns the number of places that each pass has rewritten."""
    places = {(name, where) for where, _, kind, name in REMARK.findall(said) if kind == "pass"}
    return {name: sum(n == name for n, _ in places) for name in PASSES}


def confirmed(program, source, folders, results):
    """Runs the tests of both builds again if one passed in one build only: it may fail at random."""
    every = {*results["without"], *results["with"]}
    if all(results["without"].get(t) == results["with"].get(t) for t in every):
        return
    for way in ("without", "with"):
        for test, passed in program.test(source, folders[way]).items():
            results[way][test] = results[way].get(test, False) or passed


def run_program(name, program, place, config):
    entry = {"sentence": program.SENTENCE}
    try:
        bring.need(CLANG, "make")
        source = program.prepare(place)
        if hasattr(program, "version"):
            entry["version"] = program.version(source)
        results, folders = {}, {way: place.path(way) for way in ("without", "with")}
        for way, (cc, cxx) in compilers(config, place, getattr(program, "lto", False)).items():
            print(f"== {name}, {way} the passes", file=sys.stderr, flush=True)
            shutil.rmtree(folders[way], ignore_errors=True)
            os.makedirs(folders[way])
            said = program.build(source, folders[way], cc, cxx)
            with open(place.path(f"build-{way}.log"), "w") as log:
                log.write(said)
            if way == "with":
                entry["sites"], entry["rewrites"] = counted(said), rewritten(said)
            results[way] = program.test(source, folders[way])
        confirmed(program, source, folders, results)
    except bring.NotRun as why:
        return {**entry, "state": "not run", "reason": str(why)}
    if not any(results["without"].values()):
        return {**entry, "state": "not run", "reason": "no test passes without the passes"}
    every = {*results["without"], *results["with"]}
    entry.update(state="run", tests=len(every),
                 without=sum(results["without"].values()), with_passes=sum(results["with"].values()),
                 only_without=sorted(t for t in every if results["without"].get(t) and not results["with"].get(t)),
                 only_with=sorted(t for t in every if results["with"].get(t) and not results["without"].get(t)))
    # Some hundred megabytes each; the logs stay.
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
    return entry


def copied(path, folder):
    """Copies a file into folder whole or not at all, as compilers of another run may have the old copy mapped."""
    new = shutil.copy(path, os.path.join(folder, f".{os.path.basename(path)}.{os.getpid()}"))
    made = os.path.join(folder, os.path.basename(path))
    os.replace(new, made)
    return made


def kept_or_run(name, program, place, config, key, again):
    """Returns the result of a program; the stored one if it was made with the same passes."""
    path = os.path.join(os.path.dirname(place.folder), name + ".json")
    try:
        with open(path) as file:
            entry = json.load(file)
        if not again and entry["passes"] == key and entry["state"] == "run":
            return entry
    except (OSError, ValueError, KeyError):
        pass
    entry = {**run_program(name, program, place, config), "passes": key}
    with open(path, "w") as file:
        json.dump(entry, file, indent=1)
        file.write("\n")
    return entry


def show(report, details):
    rows = []
    for name, entry in report.items():
        if entry["state"] != "run":
            rows.append([name, entry.get("version", ""), "", "", "", "", f"not run: {entry['reason']}"])
            continue
        rows.append([name, entry.get("version", ""), entry["tests"], entry["without"], entry["with_passes"],
                     entry["rewrites"]["vf-heap-churn"], entry["rewrites"]["vf-spin-loops"]])
    bench.table(["program", "version", "tests", "pass without", "pass with", "heap rewrites", "spin rewrites"], rows)
    for name, entry in report.items():
        for what, times in sorted(entry.get("sites", {}).items() if details else (), key=lambda item: -item[1]):
            print(f"{name}: {times} sites: {what}")
        for way in ("only_without", "only_with"):
            for test in entry.get(way, []):
                print(f"{way.replace('_', ' ')}: {name}: {test}")


def main():
    parser = argparse.ArgumentParser(prog="./dev rebuilt", description="Others' programs, built with the plugin.")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="*", help="programs [all]")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--again", action="store_true", help="run what has a result too")
    parser.add_argument("--details", action="store_true", help="say what became of each allocation")
    parser.add_argument("--out", metavar="DIR", help="where all is kept [BUILD/rebuilt]")
    parser.add_argument("--programs", metavar="DIR", default=FOLDER, help="another rebuilt/, for the test of this")
    options = parser.parse_intermixed_args()
    every = programs(options.programs)
    if options.list:
        for name, program in every.items():
            print(f"{name:12} {program.SENTENCE}")
        return 0
    unknown = [n for n in options.name if n not in every]
    if unknown:
        print(f"rebuilt: no program '{unknown[0]}', there are: {', '.join(every)}", file=sys.stderr)
        return 2
    tree = bench.Tree(options.build)
    shared = os.path.abspath(options.out or os.path.join(tree.build, "rebuilt"))
    os.makedirs(shared, exist_ok=True)
    # A copy of ours: it is to be the same for all, whatever is built meanwhile.
    files = [copied(os.path.join(tree.lib, f), shared) for f in FILES]
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as file:
            digest.update(file.read())
    debian = bring.Debian(shared)
    report = {}
    for name in options.name or every:
        report[name] = kept_or_run(name, every[name], Place(shared, name, debian), files[0], digest.hexdigest()[:16], options.again)
    show(report, options.details)
    written = bench.Report("rebuilt", tree, shared, {"passes": digest.hexdigest()[:16]})
    for name, entry in report.items():
        written.summary(name=name, **entry)
    written.write()
    if any(e.get("only_without") for e in report.values()):
        return 1
    return 3 if any(e["state"] != "run" for e in report.values()) else 0


if __name__ == "__main__":
    bench.exit_with(main)
