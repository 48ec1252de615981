#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Record what pass and check say of every loop, so that a change of the judge can be compared with what was before it.

  record.py FILE                                          the project's tests
  record.py FILE --compdb NAME=DIR/compile_commands.json  a corpus, too
  record.py FILE --against OLD                            prints the differences to OLD, exits with 1 if there are any

One line a remark or warning, sorted: the place, who says it, the kind of remark, its name, and its text, which has the kind of wait, the
doubt and the plan. A loop without a line does not wait. A unit that does not compile has a line, too.
"""
import argparse
import concurrent.futures
import difflib
import glob
import os
import re
import sys

from differ import database
from features import SPIN_LOOPS
import units

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TESTS = ("test/spin-loops/pass", "test/spin-loops/check", "test/spin-loops/exec", "test/known-bugs/spin-loops", "examples/spin-loops")
HEADERS = ("test/Inputs", "test/spin-loops/Inputs", "test/spin-loops/pass/Inputs", "test/spin-loops/exec/Inputs", "runtime/include")
# What of a test's RUN lines changes what the code means. Includes are the same for all.
FLAG = re.compile(r"(?<=\s)(?:-std=\S+|-D\S+|-m(?!llvm)\S+|-f(?!pass-plugin|save-opt|sanitize|syntax)[\w=-]+)(?=\s|$)")


def tests():
    """The sources of tests, each with the flags of the first RUN line that names a compiler or clang-tidy."""
    for path in sorted(p for folder in TESTS for p in glob.glob(os.path.join(SOURCE, folder, "*.c*"))):
        with open(path, errors="replace") as f:
            run = [l for l in re.findall(r"RUN:(.*)", f.read().replace("\\\n", " ")) if "clang" in l or "-- " in l]
        flags = [w for w in FLAG.findall(run[0] if run else "") if "%" not in w]
        cxx = path.endswith("cpp")
        if not any(w.startswith("-std") for w in flags):
            flags.append("-std=c++20" if cxx else "-std=gnu11")
        yield units.Unit("tests", {"directory": SOURCE, "file": path, "arguments": [
            "clang++" if cxx else "clang", *flags, "-pthread", "-D_GNU_SOURCE", *(f"-I{os.path.join(SOURCE, h)}" for h in HEADERS), path]})


def lines_of(unit, plugin, module, detectors):
    def place(path, line):
        return f"{os.path.relpath(path, SOURCE if unit.corpus == 'tests' else unit.directory)}:{line}"
    found = set()
    ask = {"pass": lambda: units.all_remarks(unit, plugin, SPIN_LOOPS),
           "check": lambda: [(path, line, "warning", "-", text) for path, line, text in units.by_check(unit, module, SPIN_LOOPS)]}
    for who in detectors:
        try:
            found |= {"\t".join((unit.corpus, place(path, line), who, *said)) for path, line, *said in ask[who]()}
        except (units.BrokenUnit, OSError):
            found.add("\t".join((unit.corpus, place(unit.file, 0), who, "broken", "-", "not examined")))
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("file", help="where the record is written")
    p.add_argument("--compdb", action="append", default=[], metavar="NAME=PATH")
    p.add_argument("--against", metavar="OLD")
    p.add_argument("--detector", choices=("pass", "check", "both"), default="both")
    p.add_argument("--plugin", default="build/lib/libvfriendly.so")
    p.add_argument("--module", default="build/lib/libvfriendly-tidy.so")
    p.add_argument("-j", type=int, default=os.cpu_count())
    a = p.parse_args()
    todo = list(tests())
    for word in a.compdb:
        name, eq, path = word.partition("=")
        if not eq:
            p.error(f"--compdb {word}: expected NAME=PATH")
        for unit in database(path):
            unit.corpus = name
            todo.append(unit)
    old = None
    if a.against:
        try:
            with open(a.against) as f:
                old = f.read().splitlines()
        except OSError as e:
            p.error(str(e))
    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        detectors = ("pass", "check") if a.detector == "both" else (a.detector,)
        plugin, module = os.path.abspath(a.plugin), os.path.abspath(a.module)
        said = sorted(set().union(*pool.map(lambda u: lines_of(u, plugin, module, detectors), todo)))
    with open(a.file, "w") as f:
        print(*said, sep="\n", file=f)
    print(f"{len(todo)} units, {len(said)} lines in {a.file}")
    if old is None:
        return 0
    changes = [l for l in difflib.unified_diff(old, said, n=0, lineterm="") if l[0] in "-+" and l[:3] not in ("---", "+++")]
    print(*changes, sep="\n")
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main())
