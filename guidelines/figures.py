#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the figures of one benchmark run into a guideline page.

  ./dev bench spin-loops && guidelines/figures.py build/bench/spin-loops.json

replaces what stands between the page's two `figures` comments, so that no
figure there is ever typed.
"""
import json
import math
import os
import re
import statistics
import sys

KINDS = {
    "barrier-atomic": "barrier, atomic",
    "flag-volatile": "flag, volatile",
    "lock-ticket": "ticket lock",
    "lock-mcs": "MCS queue lock",
    "lock-tas": "test-and-set lock",
}
BY_HAND = ("pause", "yield", "futex", "pthread")
MARKS = re.compile(r"(<!-- figures: begin -->\n).*?(<!-- figures: end -->\n)", re.S)


def fail(why):
    print(f"figures: {why}", file=sys.stderr)
    sys.exit(2)


def microseconds(cell, variant):
    value = cell["ns_per_round"][variant]["median"] / 1000
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def spin_loops(report):
    yield (f"Microseconds a round, medians, from one run of `./dev bench spin-loops` on {report['machine']['cpus']} CPUs "
           f"of a virtual machine ({report['machine']['model']}),\ncommit `{report['commit'][:10]}`. N x is N threads a CPU. "
           "The best by hand is the best of PAUSE, yield, spin-then-futex and pthread.\n")
    yield "| wait | | original | rewritten | without libvfrt | without notifies | best by hand | original / rewritten |"
    yield "|---|---|---|---|---|---|---|---|"
    for cell in report["summary"]:
        if cell["kind"] not in KINDS:
            continue
        name = KINDS[cell["kind"]] if cell["times"] == 1 else ""
        # A pthread mutex keeps no order: no replacement for locks that do.
        peers = BY_HAND[:3] if cell["kind"] in ("lock-ticket", "lock-mcs") else BY_HAND
        best = min(peers, key=lambda p: cell["ns_per_round"][p]["median"])
        shown = [microseconds(cell, v) for v in ("original", "rewritten", "rewritten-alone", "no-notify", best)]
        shown[-1] += f" ({best})"
        yield f"| {name} | {cell['times']}x | " + " | ".join(shown) + f" | {float(cell['ratios']['speedup']):.3g} |"


def median(runs, key):
    return statistics.median(r[key] for r in runs)


def against_best(cell, lock):
    """Throughput and CPU per operation of a lock over those of the best of the others,
    which the odd runs choose and the even ones are judged by."""
    others = [name for name in cell if name != lock]
    best = {
        "ops_per_s": max(others, key=lambda n: median(cell[n][0::2], "ops_per_s")),
        "cpu_ns_per_op": min(others, key=lambda n: median(cell[n][0::2], "cpu_ns_per_op")),
    }
    return {
        key: statistics.median(
            mine[key] / max(other[key], 1e-9)
            for mine, other in zip(cell[lock][1::2], cell[name][1::2])
        )
        for key, name in best.items()
    }


def blocking_sync(report):
    cells = {}
    for s in report["samples"]:
        where = (s["threads"], s["section_ns"], s["think_ns"], s["hogs"])
        cells.setdefault(where, {})[s["variant"]] = s["runs"]
    each = {k: sorted({c[i] for c in cells}) for i, k in enumerate(("threads", "in", "out", "hogs"))}
    p = report["parameters"]
    yield (f"One run of `./dev bench blocking-sync` on {report['machine']['cpus']} CPUs of a virtual machine "
           f"({report['machine']['model']}),\ncommit `{report['commit'][:10]}`: {len(cells)} cells of "
           f"{', '.join(map(str, each['threads']))} threads, {', '.join(map(str, each['in']))} ns in the lock, "
           f"{', '.join(map(str, each['out']))} ns out of it, {' or '.join(map(str, each['hogs']))} threads that compute beside; "
           f"\n{p['reps']} runs of {p['ms']} ms each. Every lock against the best of the others in each cell; the best is chosen "
           "by other runs than\nit is judged by. Jain's index: 1 is fair, 1/threads is one thread alone.\n")
    yield "| lock | throughput: geometric mean | worst cell | CPU per operation: geometric mean | worst cell | Jain's index, mean | lowest |"
    yield "|---|---|---|---|---|---|---|"
    geometric = lambda values: math.exp(statistics.fmean(map(math.log, values)))
    for lock in next(iter(cells.values())):
        ratios = [against_best(cell, lock) for cell in cells.values()]
        fast = [r["ops_per_s"] for r in ratios]
        cpu = [r["cpu_ns_per_op"] for r in ratios]
        jain = [median(cell[lock], "jain") for cell in cells.values()]
        yield (f"| {lock} | {geometric(fast):.3f} | {min(fast):.2f} | {geometric(cpu):.3f} | {max(cpu):.2f} "
               f"| {statistics.fmean(jain):.2f} | {min(jain):.2f} |")
    yield ("\n| vf-mutex by threads | throughput: geometric mean | worst cell | CPU per operation: geometric mean | worst cell |\n"
           "|---|---|---|---|---|")
    for threads in each["threads"]:
        ratios = [against_best(cell, "vf-mutex") for where, cell in cells.items() if where[0] == threads]
        fast = [r["ops_per_s"] for r in ratios]
        cpu = [r["cpu_ns_per_op"] for r in ratios]
        yield f"| {threads} | {geometric(fast):.3f} | {min(fast):.2f} | {geometric(cpu):.3f} | {max(cpu):.2f} |"


TABLES = {"spin-loops": spin_loops, "blocking-sync": blocking_sync}


def main():
    if len(sys.argv) != 2:
        fail("usage: figures.py build/bench/NAME.json")
    try:
        with open(sys.argv[1]) as file:
            report = json.load(file)
        name = report["name"]
    except (OSError, ValueError, KeyError) as error:
        fail(f"{sys.argv[1]}: {error}: run ./dev bench first")
    if report["dirty"] or report["parameters"]["smoke"]:
        fail(f"{sys.argv[1]}: measured on changed sources or as a smoke test: commit, then run ./dev bench {name}")
    if name not in TABLES:
        fail(f"{sys.argv[1]}: no page shows {name}, only {' and '.join(TABLES)}")
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.md")
    with open(page) as file:
        text = file.read()
    if not MARKS.search(text):
        fail(f"{page} has no place for figures")
    with open(page, "w") as file:
        file.write(MARKS.sub(lambda m: m.group(1) + "\n".join(TABLES[name](report)) + "\n" + m.group(2), text))


if __name__ == "__main__":
    main()
