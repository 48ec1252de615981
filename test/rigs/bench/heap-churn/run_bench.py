# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocators on programs whose heap changes its size: shootdowns, calls, memory, time.

Each is preloaded. They run in turn, each repetition beginning with another one and ending
with an idle interval, whose shootdowns are subtracted. System calls are counted in a run
of their own. A table can be measured in parts of one commit:

  ./dev bench heap-churn --only times --programs listing-7.1,...   as often as it takes, from
  ./dev bench heap-churn --add --only times --programs ...         the second with --add
  ./dev bench heap-churn --add --only calls

Below --src are snmalloc/ and mimalloc-bench/, where their own builds leave what they build
(snmalloc/build, mimalloc-bench/out/bench), and parsec/ as test/rigs/corpus/README.md says.
"""

import os
import statistics
import time

import aims
import allocators
import bench
import calls
import measure
import rows
import watch
from allocators import OURS

SENTENCE = "libvfmalloc against glibc, jemalloc, mimalloc, tcmalloc and snmalloc: shootdowns, memory, time."
ALONE = False
# Of the longest program some repetitions take a minute, and an interval as long that is idle tells no more.
IDLE_S = 20


def options(parser):
    parser.add_argument("--programs", metavar="P,...", help="only these")
    parser.add_argument("--peers", metavar="A,...", help="against these only")
    parser.add_argument("--src", metavar="DIR", help="where snmalloc/ and mimalloc-bench/, both built, and parsec/ are")
    parser.add_argument("--reps", type=int, default=4, metavar="N", help="runs of each, at most [%(default)s]")
    parser.add_argument("--budget", type=float, default=30, metavar="S",
                        help="no repetition of a program but the first two begins after so long [%(default)s]")
    parser.add_argument("--add", action="store_true", help="keep what earlier runs of this commit have measured of other programs")
    parser.add_argument("--only", choices=("times", "calls"), help="times alone, or the calls of what --add keeps, which a busy machine does not change")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="[%(default)s]")


def left_out(seen, peers):
    """What a whole table has and this one was told not to have. seen: programs that were measured or are not there."""
    return [n for n, row in rows.ROWS.items() if n not in seen and not row.asked] + [p for p in allocators.PEERS if p not in peers]


def rotated(names, by):
    by %= len(names)
    return [*names[by:], *names[:by]]


class Failed(Exception):
    """A program did not get through with one allocator."""


def once(ready, library, timeout):
    one = watch.run(ready, timeout, {"LD_PRELOAD": library})
    if one.status == "failed":
        raise Failed(one.errors.strip()[-200:].replace("\n", " "))
    return one


def repeat(ready, libraries, options, repetitions, at):
    """allocator -> its Runs; allocator -> why it has none."""
    runs, failed = {name: [] for name in libraries}, {}
    began = time.monotonic()
    for repetition in range(repetitions):
        if repetition >= 2 and time.monotonic() - began > options.budget:
            break
        for name in rotated(list(runs), repetition):
            at(f"{name}, run {repetition + 1} of {repetitions}")
            try:
                runs[name].append(once(ready, libraries[name], options.timeout))
            except Failed as error:
                failed[name] = str(error)
                del runs[name]
        round_ = [each[-1] for each in runs.values()]
        quiet = watch.idle(min(IDLE_S, max((one.wall for one in round_), default=0)))
        for one in round_:
            watch.subtract(one, quiet)
    return runs, failed


def summary(row, runs):
    def of(key):
        return statistics.median(r.values[key] for r in runs)

    # Of each run by itself: on a busy machine the need itself is another one each time.
    over = [r.values["mean_resident"] / r.values["mean_need"] for r in runs if r.values.get("mean_need")]
    return {"shootdowns": of("shootdowns"), "mean_resident": of("mean_resident"),
            "peak_resident": of("peak_resident"),
            "over_need": statistics.median(over) if over else None,
            "wall_s": statistics.median(r.wall for r in runs),
            "cpu_s": statistics.median(r.cpu for r in runs),
            "timeouts": sum(r.status == "timeout" for r in runs),
            "seconds": [row.seconds(r) for r in runs]}


# What is compared in pairs, of a run.
PAIRED = {"time": lambda run: run.wall, "CPU": lambda run: run.cpu, "shootdowns": lambda run: run.values["shootdowns"],
          "mean MB": lambda run: run.values["mean_resident"], "peak MB": lambda run: run.values["peak_resident"]}


def pairs(ours, others):
    """What -> median of ours / theirs in pairs of runs, with the ends of its interval, which takes six of them."""
    found = {}
    for what, value in PAIRED.items():
        ratios = [value(a) / value(b) for a, b in zip(ours, others) if value(b) and a.status == b.status == "ok"]
        if measure.median_interval(ratios):
            found[what] = [statistics.median(ratios), *measure.median_interval(ratios), len(ratios)]
    return found


def pair_lines(table):
    for program, row in table.items():
        for other, found in row.get(OURS, {}).get("pairs", {}).items():
            if found:
                yield f"{program}: {OURS} / {other}, medians of pairs: " + ", ".join(
                    f"{what} {median:.2f} [{low:.2f}, {high:.2f}] of {n}" for what, (median, low, high, n) in found.items())


def shown(program, name, each):
    """A row of the table."""
    if "failed" in each:
        return [program, name, *["-"] * 8, "failed"]
    count = each.get("calls")
    return [program, name, f"{each['shootdowns']:.0f}",
            "-" if count is None else ("> " if each["more"] else "") + str(count),
            "-" if each.get("returns") is None else each["returns"],
            f"{each['mean_resident'] / 1e6:.1f}", f"{each['peak_resident'] / 1e6:.1f}",
            f"{each['over_need']:.2f}" if each["over_need"] else "-",
            ("> " if each["timeouts"] else "") + f"{each['wall_s']:.2f}", f"{each['cpu_s']:.2f}",
            f"{each['speed']:.2f} of the fastest peer's speed" if each.get("speed") else ""]


HEADER = ["", "", "shootdowns", "calls", "returns", "mean MB", "peak MB", "of need", "s", "CPU s", ""]


def measured(report, name, program, libraries, options, at):
    """Adds a program's samples and summary to the report."""
    row = rows.ROWS[name]
    runs, failed = repeat(program, libraries, options, 1 if options.smoke else options.reps, at)
    report.samples(runs, program=name)
    found = {n: summary(row, each) for n, each in runs.items()}
    if OURS in found:
        found[OURS]["speed"] = aims.speed({n: each["seconds"] for n, each in found.items()})
        found[OURS]["pairs"] = {n: pairs(runs[OURS], each) for n, each in runs.items() if n != OURS}
    for n, each in {**found, **{n: {"failed": why} for n, why in failed.items()}}.items():
        report.summary(program=name, allocator=n, **each)


def begin(tree, options, out, names, peers, absent):
    """The report, with what earlier runs have measured if it is to keep that."""
    report = bench.Report("heap-churn", tree, out, {"smoke": options.smoke, "reps": options.reps})
    last = {}
    if options.add:
        last = report.add_to_last(("absent", "left_out"), lambda row: options.only != "calls" and row["program"] in names)
    before = {row["program"] for row in report.content["summary"]}
    absent = {**{n: why for n, why in last.get("absent", {}).items() if n not in before}, **absent}
    report.content["parameters"].update(absent=absent, left_out=left_out({*names, *before, *absent}, peers))
    return report


def main(tree, options, out):
    names = bench.choice(options.programs, rows.ROWS, "program")
    peers = bench.choice(options.peers, allocators.PEERS, "allocator")
    if options.smoke:
        peers = peers if options.peers else ["glibc"]
        names = names if options.programs else [n for n in names if n.startswith(("listing", "figure", "small", "replace", "fork", "start"))]
    if options.reps < 1:
        raise bench.Usage("--reps must be at least 1")
    if options.only == "calls" and not options.add:
        raise bench.Usage("--only calls needs --add: it counts for what earlier runs have measured")
    if options.src and not os.path.isdir(options.src):
        raise bench.Usage(f"--src {options.src}: no such folder")
    if not options.smoke:
        bench.install([allocators.DEBIAN[p][0] for p in peers if p in allocators.DEBIAN] + ["strace"])
    libraries, absent = allocators.find(tree, options, peers)
    folder = os.path.join(out, "heap-churn")
    os.makedirs(folder, exist_ok=True)
    place = rows.Place(tree, options.src and os.path.abspath(options.src), folder, options.smoke)
    # A part of a table may name what is not there.
    ready, missing = rows.at_hand(names, place, wanted=options.programs and not options.add)
    report = begin(tree, options, out, list(ready), peers, {**absent, **missing})
    progress = measure.Progress("heap-churn")
    print(f"{options.reps} runs of each at most, medians; shootdowns without those of an idle interval as long; "
          "calls are those that\ntake memory and so interrupt other CPUs, returns libvfmalloc's decisions, both from a run under strace")
    for name, program in ready.items():
        if options.only != "calls":
            measured(report, name, program, libraries, options, lambda what: progress.at(f"{name}, {what}"))
        if options.smoke or options.only == "times":
            continue
        for row in report.content["summary"]:
            if row["program"] == name and row["allocator"] in libraries and "failed" not in row:
                progress.at(f"{name}, {row['allocator']}, calls")
                row.update(calls.run(program, {"LD_PRELOAD": libraries[row["allocator"]]}))
    progress.end()
    return told(report, options)


def told(report, options):
    """Prints and writes the report. Returns the exit status."""
    table, lines, before = {}, [], None
    report.content["summary"].sort(key=lambda row: list(rows.ROWS).index(row["program"]))
    for row in report.content["summary"]:
        name, allocator = row["program"], row["allocator"]
        if "failed" not in row:
            table.setdefault(name, {})[allocator] = row
        lines.append(shown("" if name == before else name, allocator, row))
        before = name
    bench.table(HEADER, lines)
    for line in pair_lines(table):
        print(line)
    for name, why in report.content["parameters"]["absent"].items():
        print(f"{name}: {why}")
    for row in report.content["summary"]:
        for how, key in (("failed", "failed"), ("failed under strace", "uncounted")):
            if key in row:
                print(f"{row['program']} with {row['allocator']} {how}: {row[key]}")
    if not options.smoke:
        report.content["aims"] = [{"met": met, "what": what} for met, what in aims.judge(table)]
        for aim in report.content["aims"]:
            print(f"{aims.verdict(aim['met'])}: {aim['what']}")
    report.write()
    return 0 if all(OURS in row for row in table.values()) else 1
