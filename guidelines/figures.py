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
import os
import re
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


def table(report):
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
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.md")
    with open(page) as file:
        text = file.read()
    if not MARKS.search(text):
        fail(f"{page} has no place for figures")
    with open(page, "w") as file:
        file.write(MARKS.sub(lambda m: m.group(1) + "\n".join(table(report)) + "\n" + m.group(2), text))


if __name__ == "__main__":
    main()
