#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measure the detectors against the labels: recall, false reports, and what nobody has judged yet.

  detect.py --compdb nginx=DIR/compile_commands.json --root nginx=DIR --detector pass
  detect.py --feature heap-churn --compdb redis=DIR/compile_commands.json --root redis=DIR --detector check

A row counts as reached if the unoptimized line table of some unit has code within its loop, or, of heap churn, on its line; only
reached rows enter the recall. Which row a report means, features.py says. Reports that mean none are looked up, by their own
line, among those judged after a detector had made them: they enter the false rate only.
"""
import argparse
import collections
import concurrent.futures
import csv
import hashlib
import json
import math
import os
import sys

from features import FEATURES, SPIN_LOOPS
import units


def usage_error(why):
    print(f"detect: {why}", file=sys.stderr)
    sys.exit(2)


def wilson(k, n, z=1.96):
    """Returns the 95 % interval of the share k of n, in per cent."""
    if not n:
        return 0.0, 100.0
    p, d = k / n, 1 + z * z / n
    mid, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return 100 * max(0.0, (mid - half) / d), 100 * min(1.0, (mid + half) / d)


def share(k, n):
    """Returns k of n in words, with its interval."""
    low, high = wilson(k, n)
    return f"{k} of {n}" + (f", {100 * k / n:.1f} % ({low:.1f} to {high:.1f})" if n else "")


def read_rows(path, feature):
    with open(path) as f:
        lines = [x for x in csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE) if x]
    if not lines or lines[0][:4] != ["corpus", "file", "line", "verdict"]:
        usage_error(f"{path}: not a table of labels")
    row = feature.row()
    width = len(row._fields)  # further columns tell how the row was chosen
    for x in lines[1:]:
        if len(x) != max(len(lines[0]), width) or not x[2].isdigit():
            usage_error(f"{path}: not a label: {x}")
    return [row(*x[:2], int(x[2]), *x[3:width]) for x in lines[1:]]


def read_labels(path, feature, corpora):
    rows = [r for r in read_rows(path, feature) if r.corpus in corpora]
    missing = set(corpora) - {r.corpus for r in rows}
    if missing:
        usage_error(f"{path} has no label for {', '.join(sorted(missing))}")
    return rows


def read_units(corpus, path):
    try:
        with open(path) as f:
            return [units.Unit(corpus, e) for e in json.load(f)]
    except (OSError, ValueError, KeyError) as e:
        usage_error(f"{path}: {e}")


class Cache:
    """Facts about a unit that no detector changes: its headers, its line table."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def get(self, name, unit, make):
        path = os.path.join(self.folder, f"{name}-{unit.key()}.json")
        if os.path.exists(path) and os.path.getmtime(path) > os.path.getmtime(unit.file):
            with open(path) as f:
                return json.load(f)
        value = make(unit)
        with open(path + ".new", "w") as f:
            json.dump(value, f)
        os.replace(path + ".new", path)
        return value


def each(pool, work, todo, broken, what):
    """(unit, result) for each unit on which the work succeeds."""
    jobs, out = [(u, pool.submit(work, u)) for u in todo], []
    for i, (u, job) in enumerate(jobs):
        try:
            out.append((u, job.result()))
        except (units.BrokenUnit, OSError) as e:
            broken.setdefault(u.file, f"{what}: {e}")
        if sys.stderr.isatty() and i % 10 == 0:
            print(f"\r{what}: {i}/{len(jobs)} ", end="", file=sys.stderr)
    return out


def choose(all_units, judged, extra, how, pool, cache, broken, unread):
    """The units to look at; what else cannot even be preprocessed goes to unread.

    `labelled`: those whose own file is judged, the extra ones (written for this measurement, outside of the corpus and of its
    build folder), and the first that includes each judged file that is still left over.
    """
    if how == "all":
        return all_units
    first, own = [], set()
    for u in all_units:
        if extra(u) or u.file in judged and (u.file not in own or how != "labelled"):
            first.append(u)
            own.add(u.file)
    # Preprocess the chosen units first; the others only as long as a header is left over.
    have = judged & own
    for _, files in each(pool, lambda u: cache.get("includes", u, units.includes), first, broken, "includes"):
        have |= judged.intersection(files)
    rest, chosen = [u for u in all_units if u not in first], set(map(id, first))
    for i in range(0, len(rest), 32):
        if how == "labelled" and have >= judged:
            break
        part = rest[i:i + 32]
        for u, files in each(pool, lambda u: cache.get("includes", u, units.includes), part, unread, "includes"):
            if judged.intersection(files) - (have if how == "labelled" else set()):
                chosen.add(id(u))
                have |= judged.intersection(files)
    return [u for u in all_units if id(u) in chosen]


def measure(feature, rows, later, files, reached, reports):
    """The numbers of one corpus. `reports` is {(file, line): kind}, paths below the root; `later` has the rows judged after such
    a report, which say nothing of what is missed."""
    true, by_row, unjudged = (feature.wanted, feature.also), {}, []
    for (name, line), kind in sorted(reports.items()):
        means = files[name].judged(line)
        if not means and (name, line) in later:
            means = [later[name, line]]
        for row in means:
            by_row.setdefault(row, []).append((line, kind))
        if not means:
            unjudged.append((name, line, kind))
    result = {"unjudged": unjudged, "found": [], "missed": [], "not_reached": [], "also_found": [], "also_missed": [], "false": []}
    for row in rows:
        hit = by_row.get(row)
        if row.verdict == feature.wanted:
            result["not_reached" if row not in reached else "found" if hit else "missed"].append(row)
        elif row.verdict == feature.also and row in reached:
            result["also_found" if hit else "also_missed"].append(row)
        elif row.verdict not in true and hit:
            result["false"].append(row)
    result["false"] += [r for r in later.values() if r.verdict not in true and r in by_row]
    result["judged_later"] = sum(r in later.values() for r in by_row)
    result["true_reports"] = sum(r.verdict in true for r in by_row)
    result["reported"] = [[r.file, r.line, r.verdict, r.doubt, hits] for r, hits in by_row.items()]
    result["marked"] = {name: [sum(map(has, result[k])) for k in ("found", "missed")] for name, has in feature.marks.items()}
    return result


def table(feature, results):
    head = ["corpus", "units", "broken", feature.wanted, "not reached", "reached", "found", "missed", "recall %", "95 %", *feature.marks,
            feature.also, "true", "false", "false %", "95 %", "unjudged"]
    out = [head]
    sums = collections.Counter()
    for name, r in list(results.items()) + [("all", None)]:
        n = collections.Counter(sums) if r is None else collections.Counter(
            units=r["units"], broken=len(r["broken"]), lost=len(r["not_reached"]), found=len(r["found"]), missed=len(r["missed"]),
            also=len(r["also_found"]), also_missed=len(r["also_missed"]),
            true=r["true_reports"], false=len(r["false"]), unjudged=len(r["unjudged"]),
            **{mark + end: n for mark, both in r["marked"].items() for end, n in zip((" found", " missed"), both)})
        sums.update(n)
        reached, judged = n["found"] + n["missed"], n["true"] + n["false"]
        out.append([name, n["units"], n["broken"], reached + n["lost"], n["lost"], reached, n["found"], n["missed"],
                    f"{100 * n['found'] / reached:.1f}" if reached else "-", "{:.1f}-{:.1f}".format(*wilson(n["found"], reached)),
                    *(f"{n[m + ' found']}/{n[m + ' found'] + n[m + ' missed']}" for m in feature.marks),
                    f"{n['also']}/{n['also'] + n['also_missed']}",
                    n["true"], n["false"], f"{100 * n['false'] / judged:.1f}" if judged else "-",
                    "{:.1f}-{:.1f}".format(*wilson(n["false"], judged)), n["unjudged"]])
    wide = [max(len(str(r[i])) for r in out) for i in range(len(head))]
    return "\n".join("  ".join(str(c).rjust(w) if i else str(c).ljust(w) for i, (c, w) in enumerate(zip(r, wide))) for r in out)


def pairs(words, what):
    out = {}
    for w in words:
        name, eq, value = w.partition("=")
        if not eq:
            usage_error(f"--{what} {w}: expected NAME=PATH")
        out[name] = os.path.realpath(value)
    return out


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    build = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(here))), "build")
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--feature", choices=FEATURES, default=SPIN_LOOPS.name)
    ap.add_argument("--compdb", action="append", required=True, metavar="NAME=PATH")
    ap.add_argument("--root", action="append", required=True, metavar="NAME=DIR", help="the corpus root of README.md")
    ap.add_argument("--detector", choices=("pass", "check", "both"), default="both")
    ap.add_argument("--labels", help="instead of the feature's own")
    ap.add_argument("--reports", help="rows judged after a report, for the false rate")
    ap.add_argument("--plugin", default=os.path.join(build, "lib", "libvfriendly.so"))
    ap.add_argument("--module", default=os.path.join(build, "lib", "libvfriendly-tidy.so"))
    how = ap.add_mutually_exclusive_group()
    how.add_argument("--all", dest="how", action="store_const", const="all", default="default", help="every unit")
    how.add_argument("--only-labelled", dest="how", action="store_const", const="labelled",
                     help="units whose own file is judged, and one for each other judged file")
    ap.add_argument("--hide-hints", action="store_true", help="cut pause and sched_yield out before the pass sees the code")
    ap.add_argument("--least-recall", type=float, default=0, metavar="PERCENT", help="exit with 1 below this share of found rows")
    ap.add_argument("--most-false", type=float, default=100, metavar="PERCENT", help="exit with 1 above this share of false reports")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--out", default=os.path.join(build, "corpus"))
    a = ap.parse_args()
    feature = FEATURES[a.feature]
    compdbs, roots = pairs(a.compdb, "compdb"), pairs(a.root, "root")
    if set(compdbs) != set(roots):
        usage_error("--compdb and --root must name the same corpora")
    if a.hide_hints and (a.detector != "pass" or feature is not SPIN_LOOPS):
        usage_error("--hide-hints needs --detector pass and spin loops")
    detectors = {"pass": (units.by_pass_without_hints if a.hide_hints else units.by_pass, os.path.abspath(a.plugin)),
                 "check": (units.by_check, os.path.abspath(a.module))}
    detectors = {k: v for k, v in detectors.items() if a.detector in (k, "both")}
    for find, lib in detectors.values():
        if not os.path.exists(lib):
            usage_error(f"{lib} is not there: run ./dev build")
    labels = read_labels(a.labels or os.path.join(here, feature.labels), feature, set(compdbs))
    reports_file = a.reports or feature.reports and os.path.join(here, feature.reports)
    later = [r for r in read_rows(reports_file, feature) if r.corpus in compdbs] if reports_file else []
    cache, results = Cache(os.path.join(a.out, "cache")), {d: {} for d in detectors}

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for corpus in compdbs:
            root, broken, unread = roots[corpus], {}, {}
            rows = [r for r in labels if r.corpus == corpus]
            path = {r.file: os.path.realpath(os.path.join(root, r.file)) for r in rows}
            gone = [f for f, p in path.items() if not os.path.isfile(p)]
            if gone:
                usage_error(f"{gone[0]} is not below {root}")
            judged = set(path.values())
            inside = (root + os.sep, os.path.dirname(compdbs[corpus]) + os.sep)
            chosen = choose(read_units(corpus, compdbs[corpus]), judged, lambda u: not u.file.startswith(inside), a.how, pool, cache,
                            broken, unread)
            if not chosen:
                usage_error(f"no unit of {compdbs[corpus]} has a judged file")
            files = {f: feature.source(p, [r for r in rows if r.file == f]) for f, p in path.items()}
            lines, wanted = {}, "lines-" + hashlib.sha256("\n".join(sorted(judged)).encode()).hexdigest()[:8]
            for _, found in each(pool, lambda u: cache.get(wanted, u, lambda u: units.code_lines(u, judged)), chosen, broken, "lines"):
                for p, at in found.items():
                    lines.setdefault(p, set()).update(at)
            reached = {r for r in rows if files[r.file].reached(r, lines.get(path[r.file], set()))}
            for name, (find, lib) in detectors.items():
                failed, reports = dict(broken), {}
                for _, found in each(pool, lambda u: find(u, lib, feature), chosen, failed, name):
                    for p, line, kind in found:
                        rel = os.path.relpath(p, root)
                        if not rel.startswith(".."):
                            reports.setdefault((rel, line), kind)
                for rel in {f for f, _ in reports} - set(files):
                    files[rel] = feature.source(os.path.join(root, rel), [])
                r = measure(feature, rows, {(x.file, x.line): x for x in later if x.corpus == corpus}, files, reached, reports)
                r["macro_bodies"] = sum(files[x.file].in_macro(x) for x in r["not_reached"])
                r.update(units=len(chosen), broken=failed, unread=sorted(unread), reached=len(reached), labels=len(rows))
                results[name][corpus] = r

    wrong = []
    for name, found in results.items():
        stem = os.path.join(a.out, feature.stem + name + ("-without-hints" if a.hide_hints else ""))
        with open(stem + ".json", "w") as f:
            json.dump(found, f, indent=1)
        with open(os.path.join(os.path.dirname(stem), "unlabelled-" + os.path.basename(stem) + ".tsv"), "w") as f:
            print("corpus\tfile\tline\tkind", file=f)
            for corpus, r in found.items():
                for row in r["unjudged"]:
                    print(corpus, *row, sep="\t", file=f)
        print(f"== {os.path.basename(stem)}")
        print(table(feature, found))
        for corpus, r in found.items():
            for file, why in sorted(r["broken"].items()):
                print(f"broken: {corpus}: {why}", file=sys.stderr)
                if why.startswith(name + ": "):
                    wrong.append(f"the {name} failed on {file}")
        n = {k: sum(len(r[k]) for r in found.values()) for k in ("found", "missed", "false")}
        right = sum(r["true_reports"] for r in found.values())
        # With nothing reached or nothing reported, a share says nothing: that fails any limit.
        if a.least_recall and 100 * n["found"] < a.least_recall * max(1, n["found"] + n["missed"]):
            wrong.append(f"the {name} finds {n['found']} of {n['found'] + n['missed']}: less than {a.least_recall:g} %")
        if a.most_false < 100 and 100 * n["false"] > a.most_false * (n["false"] + right) or a.most_false < 100 and not right:
            wrong.append(f"the {name} is wrong in {n['false']} of {n['false'] + right} reports: more than {a.most_false:g} %")
    for why in wrong:
        print(f"FAILED: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
