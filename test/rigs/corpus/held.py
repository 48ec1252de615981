#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds vfriendly-blocking-sync-held against held-labels.tsv: held.py --src DIR [--module FILE].

Runs the check on each file that has a label and prints how many harmful sections it reports,
how many of its reports stand at sections that are fine, with Wilson 95 % intervals, and which
rows are wrong. A file that does not compile is named and counts for nothing.

Projects of the sets `second`, `third` and `fourth` are below a folder of that name in DIR; held-units.tsv has the flags of their files, and the
unit that includes a header. A file that is not there is one that did not compile.
"""

import argparse
import collections
import csv
import glob
import json
import os
import re
import shlex
import subprocess
import sys

from detect import share

HERE = os.path.dirname(os.path.abspath(__file__))
# corpus -> root below --src, and flags; {D} is the folder of the file. README.md has what has to be configured.
ROOTS = {
    "postgresql": ("postgresql-15-15.18", "-Isrc/include -Isrc/backend -D_GNU_SOURCE"),
    "dpdk": ("dpdk-22.11.11", "-include rte_config.h -Ibuild -Iconfig -Ilib/eal/include -Ilib/eal/linux/include -Ilib/eal/x86/include -Ilib/eal/common "
             "-march=haswell -D_GNU_SOURCE -DALLOW_EXPERIMENTAL_API -DALLOW_INTERNAL_API -DRTE_LOG_DEFAULT_LOGTYPE=1 -I{D} -I{D}/base "
             "@lib/* @drivers/bus/* @drivers/bus/*/linux @drivers/common/* @drivers/common/*/linux @drivers/net/*/base @drivers/net/*/linux "
             "@drivers/mempool/* @drivers/event/*"),
    "gperftools": ("google-perftools-2.10", "-Ibld -Isrc -Ibld/src -std=c++11"),
    "mariadb": ("mariadb-10.11.18", ""),
    "spdk": ("spdk", "-Iinclude -Ilib -D_GNU_SOURCE -std=gnu11"),
    "haproxy": ("haproxy-2.6.12", "-Iinclude -D_GNU_SOURCE -DUSE_THREAD -DUSE_EPOLL -DUSE_GETADDRINFO -DUSE_TPROXY -DUSE_NETFILTER -DUSE_POLL "
                "-DUSE_LINUX_SPLICE -DUSE_LIBCRYPT -DUSE_CRYPT_H -DUSE_ACCEPT4 -DUSE_CPU_AFFINITY -DUSE_TFO -DUSE_NS -DUSE_DL -DUSE_RT -DUSE_PRCTL "
                "-DUSE_THREAD_DUMP -DUSE_ZLIB -DUSE_OPENSSL -DUSE_LUA"),
    "abseil": ("abseil-20220623.1", "-I. -std=c++17"),
}


# Sets whose projects have folders of their own.
LATER = ("second", "third", "fourth")


def units():
    """(corpus, file) -> unit and flags, of the later sets."""
    with open(os.path.join(HERE, "held-units.tsv")) as file:
        return {(row["corpus"], row["file"]): (row["unit"] or row["file"], row["flags"].split()) for row in csv.DictReader(file, delimiter="\t")}


def flags_of(corpus, root, file):
    if corpus == "mariadb":  # As its build has them: cmake -B bld, and ninja -t compdb.
        with open(os.path.join(root, "bld", "compile_commands.json")) as database:
            for entry in json.load(database):
                if entry["file"].endswith(file) and "innobase.dir" in entry["command"]:
                    words = [w for w in shlex.split(entry["command"]) if w.startswith(("-I", "-D", "-std"))]
                    return [w if w[:2] != "-I" else "-I" + os.path.join(root, "bld", w[2:]) for w in words]
    flags = []
    for word in ROOTS[corpus][1].replace("{D}", os.path.dirname(file)).split():
        flags += ["-I" + d for d in sorted(glob.glob(os.path.join(root, word[1:])))] if word[0] == "@" else [word]
    return flags


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--src", required=True, metavar="DIR", help="where README.md says to put the sources")
    parser.add_argument("--module", default=os.path.join(HERE, "..", "..", "..", "build", "lib", "libvfriendly-tidy.so"))
    parser.add_argument("--corpora", metavar="A,B", help="of " + ", ".join(ROOTS) + " [all]")
    parser.add_argument("--set", metavar="NAME", help="only this set of labels")
    options = parser.parse_args()
    later = units()
    with open(os.path.join(HERE, "held-labels.tsv")) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    known = {r["corpus"] for r in rows}
    chosen = options.corpora.split(",") if options.corpora else sorted(known)
    unknown = [c for c in chosen if c not in known]
    if unknown:
        parser.error(f"no corpus {unknown[0]}: there are {', '.join(sorted(known))}")
    rows = [r for r in rows if r["corpus"] in chosen and options.set in (None, r["set"])]
    for row in rows:
        if row["set"] in LATER:
            row["corpus"] = f"{row['set']}/{row['corpus']}"
    found, messages, broken = set(), {}, set()
    for corpus, name in sorted({(r["corpus"], r["file"]) for r in rows}):
        of_set, _, short = corpus.partition("/")
        folder = corpus if of_set in LATER else ROOTS[corpus][0]
        root = os.path.realpath(os.path.join(options.src, folder))
        if not os.path.isdir(root):
            sys.exit(f"held.py: --src must have {folder}: see README.md")
        unit, flags = later.get((short, name), (None, None)) if of_set in LATER else (name, flags_of(corpus, root, name))
        if unit is None:
            broken.add((corpus, name))
            print(f"does not compile\t{corpus}\t{name}")
            continue
        run = subprocess.run(["clang-tidy-22", f"--load={os.path.realpath(options.module)}", "--config={}", "--checks=-*,vfriendly-blocking-sync-held",
                              "--header-filter=.*", unit, "--", "-w", *flags], cwd=root, capture_output=True, text=True)
        if "error:" in run.stdout + run.stderr:
            broken.add((corpus, name))
            print(f"does not compile\t{corpus}\t{name}")
            continue
        for path, line, text in re.findall(r"(?m)^(/[^:]+):(\d+):\d+: warning: (.*?): .*\[vfriendly-blocking-sync-held\]", run.stdout):
            key = (corpus, os.path.relpath(os.path.realpath(path), root), int(line))
            found.add(key)
            messages[key] = text
    rows = [r for r in rows if (r["corpus"], r["file"]) not in broken]
    counts = collections.defaultdict(collections.Counter)
    for r in rows:
        key = (r["corpus"], r["file"], int(r["line"]))
        for part in (r["set"], f"{r['set']}, {r['corpus']}"):
            counts[part][r["verdict"], key in found] += 1
        if (r["verdict"] == "harmful") != (key in found):
            print("missed" if r["verdict"] == "harmful" else "false", *key, r["calls"], messages.get(key, ""), sep="\t")
    print("set\tfound\tfalse reports")
    for part in sorted(counts):
        c = counts[part]
        right, wrong = c["harmful", True], c["fine", True]
        print(f"{part}\t{share(right, right + c['harmful', False])}\t{share(wrong, right + wrong)}")
    labelled = {(r["corpus"], r["file"], int(r["line"])) for r in rows}
    print(f"without a label\t{len(found - labelled)}")


if __name__ == "__main__":
    main()
