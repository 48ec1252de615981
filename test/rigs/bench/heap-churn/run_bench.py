# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocators on programs whose heap changes its size: shootdowns, calls, memory, time.

Each is preloaded. They run in turn, each repetition beginning with another one and ending
with an idle interval, whose shootdowns are subtracted. System calls are counted in a run
of their own.

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
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="[%(default)s]")


def left_out(names, peers):
    """What a whole table has and this one was told not to have."""
    return [n for n, row in rows.ROWS.items() if n not in names and not row.asked] + [p for p in allocators.PEERS if p not in peers]


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


def main(tree, options, out):
    names = bench.choice(options.programs, rows.ROWS, "program")
    peers = bench.choice(options.peers, allocators.PEERS, "allocator")
    if options.smoke:
        peers = peers if options.peers else ["glibc"]
        names = names if options.programs else [n for n in names if n.startswith(("listing", "figure", "small", "replace", "fork", "start"))]
    repetitions = 1 if options.smoke else options.reps
    if repetitions < 1:
        raise bench.Usage("--reps must be at least 1")
    if options.src and not os.path.isdir(options.src):
        raise bench.Usage(f"--src {options.src}: no such folder")
    if not options.smoke:
        bench.install([allocators.DEBIAN[p][0] for p in peers if p in allocators.DEBIAN] + ["strace"])
    libraries, absent = allocators.find(tree, options, peers)
    folder = os.path.join(out, "heap-churn")
    os.makedirs(folder, exist_ok=True)
    place = rows.Place(tree, options.src and os.path.abspath(options.src), folder, options.smoke)
    ready, missing = rows.at_hand(names, place, wanted=options.programs)
    absent.update(missing)
    report = bench.Report("heap-churn", tree, out, {"smoke": options.smoke, "reps": repetitions, "absent": absent,
                                                    "left_out": left_out(names, peers)})
    progress = measure.Progress("heap-churn")
    print(f"{repetitions} runs of each at most, medians; shootdowns without those of an idle interval as long; "
          "calls are those that\ntake memory and so interrupt other CPUs, returns libvfmalloc's decisions, both from a run under strace")
    table, lines, broken = {}, [], []
    for name, program in ready.items():
        row = rows.ROWS[name]
        runs, failed = repeat(program, libraries, options, repetitions, lambda what: progress.at(f"{name}, {what}"))
        report.samples(runs, program=name)
        found = {n: summary(row, each) for n, each in runs.items()}
        for n, each in found.items():
            if not options.smoke:
                progress.at(f"{name}, {n}, calls")
                each.update(calls.run(program, {"LD_PRELOAD": libraries[n]}))
        if OURS in found:
            found[OURS]["speed"] = aims.speed({n: each["seconds"] for n, each in found.items()})
        table[name] = found
        broken += [f"{name} with {n} failed: {why}" for n, why in failed.items()]
        broken += [f"{name} with {n} failed under strace: {each['uncounted']}" for n, each in found.items() if "uncounted" in each]
        for n, each in {**found, **{n: {"failed": why} for n, why in failed.items()}}.items():
            report.summary(program=name, allocator=n, **each)
            lines.append(shown(name if n == next(iter(found)) else "", n, each))
    progress.end()
    bench.table(HEADER, lines)
    for line in [*(f"{name}: {why}" for name, why in absent.items()), *broken]:
        print(line)
    if not options.smoke:
        report.content["aims"] = [{"met": met, "what": what} for met, what in aims.judge(table)]
        for aim in report.content["aims"]:
            print(f"{aims.verdict(aim['met'])}: {aim['what']}")
    report.write()
    return 0 if all(OURS in row for row in table.values()) else 1
