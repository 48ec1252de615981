# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_classify.py SOURCE: holds the classifier against the 29 programs of the thesis, and their table against its text."""

import csv
import math
import os
import re
import sys

source, = sys.argv[1:]
sys.path.insert(0, os.path.join(source, "checkers", "cli"))

from vfriendly import numa  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
NODES = 8
BASE = {numa.FIRST_TOUCH: "FT", numa.INTERLEAVE: "R4K"}
THESIS = os.path.join(source, "..", "shared", "seeds", "phd2018-voron-numa-fr.txt")
SHORT = {"First-Touch": "FT", "Round-4K": "R4K", "Round 4K": "R4K", "Round-1G": "R1G", "Carrefour": "C"}

with open(os.path.join(HERE, "voron.tsv")) as file:
    rows = list(csv.DictReader((l for l in file if not l.startswith("#")), delimiter="\t"))


def best(row, system):
    """The static base of the best policy: FT/C is first touch, with moves."""
    return row[system].partition("/")[0]


def found(row):
    return numa.class_of(float(row["first_touch"]), NODES)


def right(row, system):
    return BASE[found(row).placement] == best(row, system)


def printed():
    """Tables 41 and 51 are as they stand in the thesis, where its text is there."""
    if not os.path.exists(THESIS):
        return
    with open(THESIS, encoding="utf-8") as file:
        text = file.read()
    numbers = {m[1]: m[2].replace("%", "").split() for m in re.finditer(
        r"^(\S+)((?:\t\d+%){4}\t(?:low|moderate|high))$", text, re.M)}
    policies = {m[1]: ["/".join(SHORT[part] for part in name.split(" / ")) for name in (m[2], m[3])]
                for m in re.finditer(r"^(\S+)\t((?:First|Round)[^\t]+)\t((?:First|Round)[^\t\n]+)$", text, re.M)}
    assert len(numbers) == len(policies) == len(rows), (len(numbers), len(policies))
    for row in rows:
        *columns, level = numbers[row["program"]]
        mine = [row[c] for c in ("first_touch", "round_4k", "load_first_touch", "load_round_4k")]
        assert mine == columns and level.startswith(row["class"]), row
        assert policies[row["program"]] == [row["linux"], row["xen"]], row


# The policies that the thesis recommends to its classes (section 4.1, before section 4.2).
assert [(c.name, c.policy) for c in numa.CLASSES] == [
    ("low", "first touch"), ("moderate", "first touch, then vfriendly numa balance"),
    ("high", "interleave, then vfriendly numa balance")]
printed()


same = sum(found(r).name.startswith(r["class"]) for r in rows)
print(f"classes as in the thesis: {same} of {len(rows)}")
for system in ("linux", "xen"):
    always = {p: sum(best(r, system) == p for r in rows) for p in BASE.values()}
    print(f"{system}: right {sum(right(r, system) for r in rows)}, always FT {always['FT']}, always R4K {always['R4K']}")
for c in numa.CLASSES:
    members = [r for r in rows if found(r) is c]
    assert (c.programs, c.right_on_linux, c.right_on_xen) == (
        len(members), sum(right(r, "linux") for r in members), sum(right(r, "xen") for r in members)), c
    loads = [int(r["load_first_touch"]) for r in members]
    assert c.loads == (min(loads), max(loads)), (c, loads)


def one_threshold(training, system):
    """The imbalance above which R4K is best, between two programs; the highest of the best."""
    levels = sorted({float(r["first_touch"]) for r in training})
    cuts = [math.inf, *((a + b) / 2 for a, b in reversed(list(zip(levels, levels[1:])))), 0.0]
    return max(cuts, key=lambda cut: sum(
        (float(r["first_touch"]) > cut) == (best(r, system) == "R4K") for r in training))


hits = 0
for row in rows:
    cut = one_threshold([r for r in rows if r is not row], "linux")
    hits += best(row, "linux") == ("R4K" if float(row["first_touch"]) > cut else "FT")
print(f"linux, leave one out, one threshold: right {hits}")
for nodes in (2, 4, NODES):
    print("thresholds of %d nodes: %.1f %.1f" % (nodes, *numa.thresholds(nodes)))
