#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds vfriendly-blocking-sync-* against sync-labels.tsv: sync.py --src DIR [--module FILE].

Runs the checks on the units below, whose flags their configure has chosen, and prints what
was found of the labelled places and how many reports are false, with Wilson 95 % intervals.
A unit that does not compile is an error. A report that nobody has judged is printed.
"""

import argparse
import csv
import glob
import os
import re
import subprocess
import sys

from detect import wilson

HERE = os.path.dirname(os.path.abspath(__file__))
LARGE = "-D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 -D_LARGEFILE_SOURCE -DUSE_STACKSIZE_CUSTOMIZATION"
# corpus -> root below --src, flags, units. What configure writes has to be there.
UNITS = {
    "pbzip2": ("pbzip2-1.1.13", f"{LARGE} -std=gnu++98", "pbzip2.cpp BZ2StreamScanner.cpp"),
    "memcached": ("memcached-1.6.18", "-I. -DHAVE_CONFIG_H -DNDEBUG",
                  "thread.c memcached.c crawler.c logger.c extstore.c assoc.c storage.c items.c slabs.c"),
    "parsec-dedup": ("parsec/pkgs/kernels/dedup/src", "-DENABLE_PTHREADS -DENABLE_GZIP_COMPRESSION -I.", "queue.c encoder.c mbuffer.c hashtable.c"),
    "ferret": ("parsec/pkgs/apps/ferret/src", "-Iinclude -Isrc -Iimage", "src/queue.c src/tpool.c benchmark/ferret-pthreads.c"),
    "bodytrack": ("parsec/pkgs/apps/bodytrack/src", "-std=c++11 -DHAVE_CONFIG_H -DUSE_THREADS -ITrackingBenchmark -ITrackingBenchmark/threads -IFlexImageLib",
                  " ".join("TrackingBenchmark/" + n for n in ("threads/WorkerGroup.cpp", "threads/Barrier.cpp", "threads/Condition.cpp",
                                                              "AsyncIO.cpp", "TrackingModelPthread.cpp"))),
    "lbzip2": ("lbzip2-2.5", "-DHAVE_CONFIG_H -Ilib -I. -Isrc", "src/process.c src/compress.c src/expand.c"),
    "x264": ("x264-*", "-I. -DHIGH_BIT_DEPTH=0 -DBIT_DEPTH=8 -O3 -ffast-math", "common/frame.c common/threadpool.c encoder/lookahead.c encoder/encoder.c"),
}
# A macro's use stands for its line: what is reported is where it is used first.
MACROS = {("parsec-dedup", "mbuffer.c", 140): 30}


def reports(corpus, source, module):
    """(file, line, what) of each report in a corpus."""
    where, flags, units = UNITS[corpus]
    roots = glob.glob(os.path.join(source, where))
    if len(roots) != 1:
        sys.exit(f"sync.py: --src must have {where}: see README.md")
    root = os.path.realpath(roots[0])
    found = set()
    for unit in units.split():
        run = subprocess.run(["clang-tidy-22", f"--load={module}", "--header-filter=.*", "--checks=-*,vfriendly-blocking-sync-*", unit,
                              "--", "-w", *flags.split()], cwd=root, capture_output=True, text=True)
        if "error:" in run.stdout + run.stderr:
            sys.exit(f"sync.py: {corpus}/{unit} does not compile:\n{(run.stdout + run.stderr)[:500]}")
        for path, line, what in re.findall(r"(?m)^(/[^:]+):(\d+):\d+: warning: .*\[vfriendly-blocking-sync-([a-z-]+)\]", run.stdout):
            name = os.path.relpath(os.path.realpath(path), root)
            found.add((name, MACROS.get((corpus, name, int(line)), int(line)), what))
    return found


def share(k, n):
    low, high = wilson(k, n)
    return f"{k} of {n}" + (f", {100 * k / n:.1f} % ({low:.1f} to {high:.1f})" if n else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--src", required=True, metavar="DIR", help="where README.md says to put the sources")
    parser.add_argument("--module", default=os.path.join(HERE, "..", "..", "..", "build", "lib", "libvfriendly-tidy.so"))
    options = parser.parse_args()
    with open(os.path.join(HERE, "sync-labels.tsv")) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    found = {corpus: reports(corpus, os.path.abspath(options.src), os.path.abspath(options.module)) for corpus in UNITS}
    print("set\tcheck\tfound\tfalse reports")
    for part in ("held-out", "developed"):
        judged = {(r["corpus"], r["file"], int(r["line"]), r["what"]): r["verdict"] for r in rows if r["set"] in (part, part + ", after a report")}
        # What was judged after a report counts for the false rate only.
        wanted = {key for key, r in zip([(r["corpus"], r["file"], int(r["line"]), r["what"]) for r in rows], rows)
                  if r["set"] == part and r["verdict"] == "yes"}
        mine = {(c, *each) for c, each_of in found.items() if any(r["corpus"] == c and r["set"] == part for r in rows) for each in each_of}
        for what in (None, *sorted({key[3] for key in wanted | mine})):
            def of(keys):
                return [k for k in keys if what in (None, k[3])]

            wrong = [k for k in of(mine) if judged.get(k) == "no"]
            right = [k for k in of(mine) if judged.get(k) == "yes"]
            print(f"{part}\t{what or 'all'}\t{share(len(set(of(wanted)) & mine), len(of(wanted)))}\t{share(len(wrong), len(wrong) + len(right))}")
        for key in sorted(mine - set(judged)):
            print("unjudged\t" + "\t".join(map(str, key)))


if __name__ == "__main__":
    main()
