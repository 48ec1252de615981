#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the tests of others with a library of ours: run.py BUILD [NAME...] [--list] [--smoke].

A suite is a folder beside this file with a suite.py, which has
  SENTENCE                        what it is
  LIBRARIES                       which libraries it is for; without it all
  prepare(place, smoke) -> Suite  brings and builds what it needs; raises NotRun

Each test runs without the library and with it, see compare.py. Exit status: 0 if every
test that passes without it passes with it, 1 if one does not, 2 on a usage error, 3 if a
suite could not be run. --smoke takes a few tests of each: it proves that a suite can be
run, not that the library holds.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "bench"))

import bench
import bring
import compare
import measure

COLUMNS = ("both", "neither", "only without", "only with", "flaky", "skipped")


class Library:
    """One of ours: the function whose calls show who was preloaded, what it does, and what the
    probe is compiled with."""

    def __init__(self, name, witness, what, *flags):
        self.name, self.witness, self.what, self.flags = name, witness, what, flags


LIBRARIES = {each.name: each for each in (
    Library("libvfpthread", "pthread_mutex_lock", "mutex"),
    Library("libvfmalloc", "malloc", "malloc"),
    Library("libvfomp", "pthread_create", "OpenMP runtime", "-fopenmp"),
)}


class Place:
    """Returns the folder of the files that a suite fetches and builds."""

    def __init__(self, shared, name, debian, only=""):
        self.folder = os.path.join(shared, name)
        self.only = re.compile(only)  # names of jobs; a suite need not build others
        self.source = HERE
        self.debian = debian
        os.makedirs(self.folder, exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)


def names(folder, library):
    return sorted(
        e for e in os.listdir(folder) if os.path.exists(os.path.join(folder, e, "suite.py"))
        and library.name in getattr(load(folder, e), "LIBRARIES", LIBRARIES))


def load_file(name, path):
    spec = importlib.util.spec_from_file_location("suite_" + name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(folder, name):
    return load_file(name, os.path.join(folder, name, "suite.py"))


def compile_c(source, target, *flags):
    bench.build(["cc", "-std=gnu11", "-O2", source, "-o", target, *flags])


def preload_of(tree, shared, library, files):
    """Returns the library after a check that it takes over a program's mutexes, malloc, or OpenMP runtime here."""
    bring.need("cc")
    libraries = [os.path.abspath(l) for l in files.split(":")] if files else [
        os.path.join(tree.lib, library.name + ".so")]
    for each in libraries:
        if not os.path.exists(each):
            raise bring.NotRun(f"there is no {each}: run ./dev build")
    # A copy of ours: it is to be the same in all runs, whatever is built meanwhile.
    kept = os.path.join(shared, "preload")
    shutil.rmtree(kept, ignore_errors=True)
    os.makedirs(kept)
    libraries = [shutil.copy(each, kept) for each in libraries]
    witness, probe = os.path.join(shared, "witness.so"), os.path.join(shared, "probe")
    compile_c(os.path.join(HERE, "witness.c"), witness, "-shared", "-fPIC",
              f'-DFUNCTION="{library.witness}"')
    compile_c(os.path.join(HERE, "probe.c"), probe, "-pthread", *library.flags)
    preload = compare.Preload(library.name, ":".join(libraries), witness)
    try:
        done = subprocess.run([probe], capture_output=True, text=True, timeout=60, env={
            **os.environ, **preload.environment("with", os.devnull), "VF_STATS": "1"})
    except subprocess.TimeoutExpired:
        raise bench.Broken(f"{preload.library} hangs at the first lock that is waited for")
    key = library.name[len("lib"):]
    lines = [l for l in done.stderr.splitlines() if l.startswith(f'{{"{key}"')]
    counted = json.loads(lines[0])[key] if lines else {}
    if done.returncode or not any(counted.values()):
        raise bring.NotRun(
            f"{preload.library} takes over no {library.what} here: {done.stderr.strip()}")
    return preload


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def loaded(starts):
    """Counts the programs started without and with the library, and whose mutexes they used."""
    report = {way: {} for way in compare.WAYS}
    for way, seen in starts.items():
        for (program, library), times in sorted(seen.items()):
            report[way].setdefault(program, {})[library] = times
    return report


def not_loaded(suite, starts, entry, ours):
    """Notes how many starts of the tested programs were with the library. Returns one
    that was not, or None."""
    tested = Counter()
    for (program, library), times in starts.items():
        if library.startswith(ours) and program in ({*suite.programs} or {program}) - {*compare.WRAPPERS}:
            tested[program] += times
    entry["programs"] = sum(tested.values())
    other = {p for p, library in starts if not library.startswith(ours)}
    if suite.programs:
        return next((p for p in suite.programs if p not in tested or p in other), None)
    return None if tested else "any program"


def run_suite(folder, name, place, preload, smoke):
    began = time.monotonic()
    entry = {"sentence": load(folder, name).SENTENCE}
    try:
        suite = load(folder, name).prepare(place, smoke)
        if not suite.jobs and not place.only.pattern:
            raise bring.NotRun("nothing of it could be built")
        suite.jobs = [job for job in suite.jobs if place.only.search(job.name)]
        if not suite.jobs:
            raise bring.NotRun(f"it has no job whose name matches {place.only.pattern}")
    except bring.NotRun as why:
        return {**entry, "state": "not run", "reason": str(why)}
    prepared = time.monotonic()
    progress = measure.Progress(name)
    result = compare.Comparison(suite, preload, place.path("log"), progress)
    verdicts = result.run()
    progress.end()
    of = {v: sorted(t for t, got in verdicts.items() if got == v) for v in COLUMNS}
    entry.update(
        state="run", smoke=smoke,
        prepare_s=round(prepared - began, 1), run_s=round(time.monotonic() - prepared, 1),
        seconds={w: round(s, 1) for w, s in result.seconds.items()},
        counts={v: len(tests) for v, tests in of.items()},
        tests=len(verdicts), names={v: of[v] for v in COLUMNS if v != "both"},
        tries={t: result.tries[t] for t in sorted(result.again)},
        left_out={**suite.left_out, **dict.fromkeys(
            sorted(result.unseen), "ran without the library")}, started=loaded(result.starts),
    )
    astray = not_loaded(suite, result.starts["with"], entry, preload.name)
    # A test that ran without the library has shown nothing about it.
    if astray:
        entry.update(state="not run", reason=f"the library was not loaded in {astray}")
    elif not of["both"]:
        entry.update(state="not run", reason=f"no test passes: see {place.path('log')}")
    return entry


def show(report, library):
    rows = []
    for name, entry in report["suites"].items():
        if "counts" not in entry:
            rows.append([name, *[""] * (len(COLUMNS) + 3), f"not run: {entry['reason']}"])
            continue
        rows.append([
            name, entry["tests"], *[entry["counts"][v] for v in COLUMNS],
            f"{entry['run_s']:.0f} s", entry["programs"],
            f"not run: {entry['reason']}" if entry["state"] != "run" else ""])
    bench.table(["suite", "tests", "pass both", "fail both", "only without", "only with", "flaky",
                 "skipped", "time", "programs", ""], rows)
    print(f"programs: starts of what is tested that were with {library.name}'s {library.what}")
    for name, entry in report["suites"].items():
        if entry.get("left_out"):
            print(f"left out of {name}: {len(entry['left_out'])} tests, see the report for why")
        for verdict in ("only without", "only with", "flaky"):
            for test in entry.get("names", {}).get(verdict, []):
                tries = entry["tries"][test]
                said = ", ".join(f"{w} {' '.join(tries[w])}" for w in compare.WAYS)
                print(f"{verdict}: {name} {test}: {said}")


def status(report):
    entries = report["suites"].values()
    if any(e.get("counts", {}).get("only without") for e in entries):
        return 1
    return 3 if any(e["state"] != "run" for e in entries) else 0


def heed_signals():
    """A signal ignored here, as by nohup or in the background, would be in tests as well;
    one that is handled is as it should be in what we start."""
    for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(ignored) == signal.SIG_IGN:
            signal.signal(ignored, lambda *_: None)


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev suites", description="The tests of others, without and with a library.")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="*", help="suites to run [all]")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--smoke", action="store_true", help="a few tests of each")
    parser.add_argument("--only", metavar="REGEX", default="", help="only jobs whose name matches")
    parser.add_argument("--library", choices=LIBRARIES, default="libvfpthread",
                        help="which is looked at [%(default)s]")
    parser.add_argument("--preload", metavar="FILE[:FILE]",
                        help="from elsewhere [BUILD/lib/LIBRARY.so]")
    parser.add_argument("--suites", metavar="DIR", default=HERE, help="suites of another folder")
    parser.add_argument("--out", metavar="DIR", help="where all is kept [BUILD/suites]")
    return parser.parse_intermixed_args()


def main():
    options = arguments()
    library = LIBRARIES[options.library]
    there = names(options.suites, library)
    if options.list:
        for name in there:
            print(f"{name:12} {load(options.suites, name).SENTENCE}")
        return 0
    try:
        re.compile(options.only)
    except re.error as error:
        print(f"suites: --only {options.only}: {error}", file=sys.stderr)
        return 2
    unknown = [n for n in options.name if n not in there]
    if unknown:
        print(f"suites: no suite '{unknown[0]}', there are: {', '.join(there)}", file=sys.stderr)
        return 2
    heed_signals()
    compare.adopt_orphans()
    try:
        tree = bench.Tree(options.build)
        shared = os.path.abspath(options.out or os.path.join(tree.build, "suites"))
        os.makedirs(shared, exist_ok=True)
        preload = preload_of(tree, shared, library, options.preload)
    except (bench.Broken, bring.NotRun) as error:
        print(f"suites: {error}", file=sys.stderr)
        return 3 if isinstance(error, bring.NotRun) else 1
    report = {
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": bench.machine(),
        **bench.commit(tree.source), "preload": {
            l: digest(l) for l in preload.library.split(":")}, "suites": {}}
    debian = bring.Debian(shared)
    for name in options.name or there:
        print(f"== {name}", file=sys.stderr, flush=True)
        place = Place(shared, name, debian, options.only)
        report["suites"][name] = run_suite(options.suites, name, place, preload, options.smoke)
        path = os.path.join(shared, "report.json")
        with open(path, "w") as file:  # After each: the next may take long.
            json.dump(report, file, indent=1)
            file.write("\n")
    show(report, library)
    print(f"all of it: {os.path.relpath(path)}")
    return status(report)


if __name__ == "__main__":
    bench.exit_with(main)
