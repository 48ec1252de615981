#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds programs of others with libvfriendly.so, all passes on, and runs their own tests.

  rebuilt.py BUILD [NAME...] [--out DIR]

A program is a file of rebuilt/, which has
  SENTENCE                           what it is, and which of its tests run
  prepare(place) -> source           brings the source; raises NotRun
  build(source, folder, cc)          a build of its own in folder, by `cc`; returns what make said
  test(source, folder) -> {test: passed}

Each is built by clang -O2 as it is, and with the plugin. What passes in the one and not in the
other is told. So is what the plugin did about each allocation: a remark names each site once.
Exit status: 0 if all is the same, 1 if not, 2 on a usage error, 3 if something was not run.
"""

import argparse
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
from run import Place, load_file

FOLDER = os.path.join(HERE, "rebuilt")
CLANG = "clang-22"
PASSES = ("vf-heap-churn", "vf-spin-loops")
REMARK = re.compile(r"^(\S+:\d+:\d+): remark: (.*) \[-R(pass|pass-missed|pass-analysis)=(vf-[\w-]+)\]$", re.M)


def names():
    return sorted(f[:-3] for f in os.listdir(FOLDER) if f.endswith(".py"))


def compilers(plugin, place):
    """As programs: build systems do not all take a compiler with arguments."""
    remarks = " ".join(f"-Rpass{kind}={p}" for p in PASSES for kind in ("", "-missed"))
    made = {}
    for way, arguments in (("without", ""), ("with", f"-fpass-plugin={plugin} {remarks}")):
        made[way] = place.path(f"cc-{way}")
        with open(made[way], "w") as script:
            script.write(f'#!/bin/sh\nexec {CLANG} {arguments} "$@"\n')
        os.chmod(made[way], 0o755)
    return made


def counted(said):
    """What the remarks say about allocations: {what: sites}."""
    sites = {}
    for where, text, kind, name in REMARK.findall(said):
        if name == "vf-heap-churn":
            what = text.split(" [")[0]
            sites[where] = what.split("kept so, as ")[-1] if kind == "pass-missed" else what
    # Sizes are of no interest here.
    return Counter(re.sub(r"\d+ bytes", "N bytes", what) for what in sites.values())


def run_program(name, place, plugin):
    program = load_file(name, os.path.join(FOLDER, name + ".py"))
    entry = {"sentence": program.SENTENCE}
    try:
        bring.need(CLANG, "make")
        source = program.prepare(place)
        results = {}
        for way, cc in compilers(plugin, place).items():
            print(f"== {name}, {way} the plugin", file=sys.stderr, flush=True)
            folder = place.path(way)
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(folder)
            said = program.build(source, folder, cc)
            with open(place.path(f"build-{way}.log"), "w") as log:
                log.write(said)
            if way == "with":
                entry["sites"] = counted(said)
            results[way] = program.test(source, folder)
    except bring.NotRun as why:
        return {**entry, "state": "not run", "reason": str(why)}
    if not any(results["without"].values()):
        return {**entry, "state": "not run", "reason": "no test passes without the plugin"}
    every = {*results["without"], *results["with"]}
    entry.update(state="run", tests=len(every),
                 both=sum(results["without"].get(t, False) and results["with"].get(t, False) for t in every),
                 only_without=sorted(t for t in every if results["without"].get(t) and not results["with"].get(t)),
                 only_with=sorted(t for t in every if results["with"].get(t) and not results["without"].get(t)))
    return entry


def show(report):
    rows = []
    for name, entry in report.items():
        if entry["state"] != "run":
            rows.append([name, "", "", "", "", f"not run: {entry['reason']}"])
            continue
        rows.append([name, entry["tests"], entry["both"], len(entry["only_without"]), len(entry["only_with"]),
                     sum(entry["sites"].values())])
    bench.table(["program", "tests", "pass both", "only without", "only with", "allocation sites"], rows)
    for name, entry in report.items():
        for what, times in sorted(entry.get("sites", {}).items(), key=lambda item: -item[1]):
            print(f"{name}: {times} sites: {what}")
        for way in ("only_without", "only_with"):
            for test in entry.get(way, []):
                print(f"{way.replace('_', ' ')}: {name}: {test}")


def main():
    parser = argparse.ArgumentParser(prog="./dev rebuilt", description="Others' programs, built with the plugin.")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="*", help="programs [all]")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--out", metavar="DIR", help="where all is kept [BUILD/rebuilt]")
    options = parser.parse_intermixed_args()
    if options.list:
        for name in names():
            print(f"{name:12} {load_file(name, os.path.join(FOLDER, name + '.py')).SENTENCE}")
        return 0
    unknown = [n for n in options.name if n not in names()]
    if unknown:
        print(f"rebuilt: no program '{unknown[0]}', there are: {', '.join(names())}", file=sys.stderr)
        return 2
    tree = bench.Tree(options.build)
    shared = os.path.abspath(options.out or os.path.join(tree.build, "rebuilt"))
    os.makedirs(shared, exist_ok=True)
    # A copy of ours: it is to be the same for all, whatever is built meanwhile.
    plugin = shutil.copy(os.path.join(tree.lib, "libvfriendly.so"), shared)
    debian = bring.Debian(shared)
    report = {}
    for name in options.name or names():
        report[name] = run_program(name, Place(shared, name, debian), plugin)
        with open(os.path.join(shared, "report.json"), "w") as file:  # After each: the next may take long.
            json.dump(report, file, indent=1)
            file.write("\n")
    show(report)
    if any(e.get("only_without") for e in report.values()):
        return 1
    return 3 if any(e["state"] != "run" for e in report.values()) else 0


if __name__ == "__main__":
    bench.exit_with(main)
