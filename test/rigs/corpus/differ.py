#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print each loop on which the check and the compiled pass disagree: file:line, what the check says, what the pass says.

  differ.py --compdb DIR/compile_commands.json
  differ.py a.c b.c -- -std=gnu11

A report belongs to the innermost loop around its line, so that a pass that names a poll in the body agrees with a check that
names the loop's head. Loops that the check alone reports, and for which no unit has code even without optimization, are counted
apart: the pass does not see functions that nothing calls. With --expect FILE the same lines must stand there: a new one fails,
and so does one that is gone, which is to be deleted. Exits with 0 if they agree, 1 if not, 2 if a unit cannot be examined.
"""
import argparse
import concurrent.futures
import json
import os
import sys

from features import SPIN_LOOPS, Loops
import units


def usage_error(why):
    print(f"differ: {why}", file=sys.stderr)
    sys.exit(2)


def database(path):
    try:
        with open(path) as f:
            return [units.Unit("-", e) for e in json.load(f)]
    except (OSError, ValueError, KeyError) as e:
        usage_error(f"{path}: {e}")


def sources(files, flags):
    for f in files:
        if not os.path.isfile(f):
            usage_error(f"{f}: no such file")
    compiler = {True: "clang++", False: "clang"}
    return [units.Unit("-", {"directory": os.getcwd(), "file": f,
                             "arguments": [compiler[not f.endswith(".c")], *flags, f]}) for f in files]


def head(path, line, extents):
    """Returns the line of the innermost loop at or around this line."""
    if path not in extents:
        extents[path] = Loops(path, []).extents if os.path.isfile(path) else {}
    around = [(last - first, first) for first, last in extents[path].items() if first <= line <= last]
    return min(around)[1] if around else line


def has_code(reporting, place, extents, lines):
    """Returns true if one of these units has code in the loop at this place."""
    path, first = place
    for unit in reporting:
        key = (unit.key(), path)
        if key not in lines:
            lines[key] = set(units.code_lines(unit, {path}).get(path, ()))
        if not lines[key].isdisjoint(range(first, extents[path].get(first, first) + 1)):
            return True
    return False


def verdicts(unit, plugin, module):
    return units.by_check(unit, module, SPIN_LOOPS), units.by_pass(unit, plugin, SPIN_LOOPS)


def main():
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--compdb", action="append", default=[])
    p.add_argument("--plugin", default="build/lib/libvfriendly.so")
    p.add_argument("--module", default="build/lib/libvfriendly-tidy.so")
    p.add_argument("--expect", metavar="FILE", help="the disagreements known; each line file:line: side, # begins a comment")
    p.add_argument("-j", type=int, default=os.cpu_count())
    p.add_argument("files", nargs="*")
    a = p.parse_args(words[:at])
    todo = [u for d in a.compdb for u in database(d)] + sources(a.files, words[at + 1:])
    if not todo:
        usage_error("no source: name some, or --compdb FILE")

    check, passes, broken, reporting = {}, {}, [], {}
    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        jobs = [(u, pool.submit(verdicts, u, os.path.abspath(a.plugin), os.path.abspath(a.module))) for u in todo]
    extents = {}
    for unit, job in jobs:
        try:
            for found, reports in zip((check, passes), job.result()):
                for path, line, kind in reports:
                    place = path, head(path, line, extents)
                    found.setdefault(place, kind)
                    if found is check:
                        reporting.setdefault(place, []).append(unit)
        except units.BrokenUnit as e:
            broken.append(str(e))

    differ, lines = {}, {}
    unseen = {p for p in check.keys() - passes.keys() if not has_code(reporting[p], p, extents, lines)}
    for path, line in sorted((check.keys() ^ passes.keys()) - unseen):
        place, told = (path, line), f"{os.path.basename(path)}:{line}: "
        told += "check only" if place in check else "pass only"
        differ[told] = f"{path}:{line}: check: {check.get(place, 'no wait')} | pass: {passes.get(place, 'no wait')}"
    both = len(check.keys() & passes.keys())
    for line in differ.values():
        print(line)
    print(f"{len(todo)} units: {both} loops by both, {sum(l.endswith('check only') for l in differ)} by the check only, "
          f"{sum(l.endswith('pass only') for l in differ)} by the pass only; {len(unseen)} of the check's have no code")
    for why in broken:
        print(f"differ: not examined: {why}", file=sys.stderr)
    if not a.expect:
        sys.exit(2 if broken else int(bool(differ)))

    with open(a.expect) as f:
        known = {l.split("#")[0].strip() for l in f} - {""}
    for line in sorted(differ.keys() - known):
        print(f"FAILED: new: {line}")
    for line in sorted(known - differ.keys()):
        print(f"FAILED: settled, delete it from {a.expect}: {line}")
    sys.exit(2 if broken else int(differ.keys() != known))


if __name__ == "__main__":
    main()
