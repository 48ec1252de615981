#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the reports of a run against families-labels.tsv: families.py DIR [--corpora A,B].

DIR has CORPUS.sarif of `vfriendly scan`, CORPUS.remarks of the pass, and CORPUS.whole.remarks of the pass
over the linked module; DIR/unreached names what did not compile, a line `CORPUS FILE` each. Prints what was
found of the labelled places and how many reports are false, with Wilson 95 % intervals. A report that nobody
has judged is printed.
"""

import argparse
import collections
import csv
import json
import os
import re

from detect import share

HERE = os.path.dirname(os.path.abspath(__file__))
# A function's line stands for what its caller holds, or what a lambda that it calls takes.
INLINED = {("comd", "mytype.h", 23): [("src-openmp/initAtoms.c", n) for n in (43, 44, 45)],
           ("gapbs", "bits/stl_algobase.h", 922): [("src/bitmap.h", 36)],
           ("networkit", "include/networkit/graph/AdjListGraphImpl.hpp", 66): [("networkit/cpp/distance/AlgebraicDistance.cpp", 55)]}
TRUE = ("churn", "serial", "shared-line", "yes")
# Lines from a label to a report of the same place, at least and at most: the label may be the sleep in a reported
# loop, or the loop before a reported store.
REACH = {"heap": (-1, 2), "numa": (-3, 14), "sync": (-3, 3), "spin": (-10, 1)}
FAMILIES = {"heap-churn": "heap", "numa-placement": "numa", "blocking-sync": "sync", "spin-loops": "spin"}


def family_of(name):
    return next((family for prefix, family in FAMILIES.items() if name.startswith(prefix)), None)


def same_file(one, other):
    one, other = ("/" + re.sub(r"^(\.*/)+", "", path) for path in (one, other))
    return one.endswith(other) or other.endswith(one)


def read_reports(folder, corpus):
    """(detector, name, path, line, text, whether it is rewritten, last line) of each report that was kept."""
    found = set()
    path = os.path.join(folder, corpus + ".sarif")
    if os.path.exists(path):
        with open(path) as file:
            for each in json.load(file)["runs"][0].get("results", []):
                place = each["locations"][0]["physicalLocation"]
                first = place["region"]["startLine"]
                found.add(("check", each["ruleId"].replace("vfriendly-", ""), place["artifactLocation"]["uri"], first, each["message"]["text"],
                           bool(each.get("fixes")), max(first, place.get("contextRegion", {}).get("endLine", first))))
    for detector, suffix in (("pass", ".remarks"), ("pass, whole program", ".whole.remarks")):
        path = os.path.join(folder, corpus + suffix)
        if not os.path.exists(path):
            continue
        with open(path, errors="replace") as file:
            text = file.read()
        for name, line, words, kind, rule in re.findall(
                r"(?m)^(?:remark: )?([^\s:]+):(\d+):\d+: (?:remark: )?(.*) \[-Rpass(-missed|)=vf-([a-z-]+)\]", text):
            if family_of(rule):
                found.add((detector, rule, name, int(line), words, kind == "", int(line)))
    return found


def plain(what):
    """The name of the variable or field in an expression such as `mats[t]->values`."""
    return re.split(r"->|\.", what)[-1].split("[")[0].split(" ")[0]


def rows_of(report, rows):
    """The labels that a report is about: of each array that it says is filled in its loop, or else the nearest."""
    _, name, path, line, text, _, last = report
    arrays = set(re.findall(r"'([^']+)'", text.split(" before several use ")[0]))
    if name.endswith("serial-init"):
        # The label is at the write, the report at the loop around it.
        low = line + 1 - REACH["numa"][1]
        each = [r for r in rows if r["family"] == "numa" and r["verdict"] != "shared-line" and plain(r["what"]) in arrays
                and (low if len(arrays) > 1 else line) <= int(r["line"]) <= last and same_file(path, r["file"])]
        if each:
            return each
    nearest = row_of(report, rows)
    return [nearest] if nearest else []


def row_of(report, rows):
    """The label of a report's family in its file, the nearest in reach; None if there is none."""
    _, name, path, line, text, _, _ = report
    family = family_of(name)
    near = []
    named = re.search(r"'([^']+)'", text)
    here = [r for r in rows if r["family"] == ("sync" if family == "spin" else family) and same_file(path, r["file"])]
    whats = {r["what"] for r in rows}
    for r in here:
        what = name.removeprefix("blocking-sync-")
        if r["what"] != what and (family == "spin" and r["what"] != "sleep-poll" or family == "sync" and what in whats):
            continue
        if family == "spin" and "sleeps between polls" not in text:
            continue  # A loop that only spins is not about a sleep.
        if family == "numa" and named and r["what"] != named[1] and any(o["what"] == named[1] for o in here):
            continue
        if family == "numa" and "shared-line" in (name.removeprefix("numa-placement-"), r["verdict"]) and not (
                name.endswith("shared-line") and r["verdict"] != "serial"):
            continue
        low, high = REACH[family]
        exact = r["set"].endswith("after a report")
        if line - int(r["line"]) in ((0,) if exact else range(low, high + 1)):
            near.append((abs(line - int(r["line"])), int(r["line"]), r))
    return min(near, key=lambda n: n[:2])[2] if near else None


def compare(folder, rows):
    """Prints what reports that were kept in a folder found of the labelled places."""
    unreached = set()
    if os.path.exists(os.path.join(folder, "unreached")):
        with open(os.path.join(folder, "unreached")) as file:
            unreached = {tuple(line.split()[:2]) for line in file if line.strip()}
    count, lines = collections.defaultdict(collections.Counter), []
    for corpus in sorted({r["corpus"] for r in rows}):
        reports_of = read_reports(folder, corpus)
        mine = [r for r in rows if r["corpus"] == corpus and (corpus, r["file"]) not in unreached]
        hit = collections.defaultdict(list)
        for report in sorted(reports_of):
            places = next((p for (c, f, n), p in INLINED.items() if c == corpus and n == report[3] and same_file(f, report[2])), None)
            about = ([r for r in mine if (r["file"], int(r["line"])) in places] if places else rows_of(report, mine))
            for r in about:
                hit[report[0], r["file"], r["line"], r["family"], r["what"]].append(report)
            if not about and (family_of(report[1]) != "spin" or "sleeps between polls" in report[4]):
                    lines.append(("unjudged", report[0], report[1], f"{corpus}/{report[2]}:{report[3]}", report[4]))
        detectors = {"check": os.path.exists(os.path.join(folder, corpus + ".sarif")),
                     "pass": os.path.exists(os.path.join(folder, corpus + ".remarks")),
                     "pass, whole program": os.path.exists(os.path.join(folder, corpus + ".whole.remarks"))}
        for detector in (d for d, ran in detectors.items() if ran):
            for r in mine:
                part, _, after = r["set"].partition(", ")
                true = r["verdict"] in TRUE
                got = hit[detector, r["file"], r["line"], r["family"], r["what"]]
                if detector == "pass, whole program" and r["family"] != "numa":
                    continue
                kinds = ["all", r["what"] if r["family"] == "sync" else r["verdict"], *(["no doubt"] if r["doubt"] == "0" else []),
                         *sorted({g[1] for g in got})]
                for key in ((part, r["family"], kind) for kind in kinds):
                    c = count[(*key, detector)]
                    c["true"] += true and not after
                    c["found"] += bool(true and not after and got)
                    c["fixed"] += bool(true and not after and any(g[5] for g in got))
                    c["right"] += bool(true and got)
                    c["wrong"] += bool(not true and got)
                if true != bool(got) and not after or got and not true:
                    lines.append(("missed" if true else "false", detector, r["what"] if not got else got[0][1], f"{corpus}/{r['file']}:{r['line']}",
                                  r["why"] + (" (doubtful)" if r["doubt"] == "1" else "") + (f" | {got[0][4]}" if got else "")))
    print("set\tfamily\tkind\tdetector\tfound\tof these rewritten\tfalse reports")
    for key in sorted(count):
        c = count[key]
        print("\t".join(key), share(c["found"], c["true"]), c["fixed"], share(c["wrong"], c["wrong"] + c["right"]), sep="\t")
    for line in sorted(set(lines)):
        print("\t".join(line))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("reports", metavar="DIR", help="what was kept of a run")
    parser.add_argument("--corpora", metavar="A,B", help="only these [all]")
    options = parser.parse_args()
    with open(os.path.join(HERE, "families-labels.tsv")) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    chosen = options.corpora.split(",") if options.corpora else {r["corpus"] for r in rows}
    compare(options.reports, [r for r in rows if r["corpus"] in chosen])


if __name__ == "__main__":
    main()
