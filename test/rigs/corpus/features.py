# Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Describes features for detect.py: their labels, which reports are theirs, and which labelled row a report means."""
import collections
import os

from cloops import loops, streams


class Loops:
    """The loops of one file as (first line, last line), and those that are judged: a report means the loop that it stands at or in."""

    def __init__(self, path, rows):
        self.rows = {r.line: r for r in rows}
        self.extents, self.macro_lines = {}, set()
        for macro, tok in token_streams(path, rows):
            for _, first, _, (_, end), last in loops(tok):
                begin, last = tok[first][1], tok[min(end if last is None else last, len(tok) - 1)][1]
                self.extents[begin] = max(last, self.extents.get(begin, last))
                if macro:
                    self.macro_lines.add(begin)
        for line in self.rows:
            self.extents.setdefault(line, line)  # a macro that hides the loop

    def judged(self, line):
        """Returns the rows that a report at this line means."""
        first = line
        if line not in self.extents:
            around = [(last - first, first) for first, last in self.extents.items() if first < line <= last]
            first = min(around)[1] if around else line
        return [self.rows[first]] if first in self.rows else []

    def reached(self, row, lines):
        return not lines.isdisjoint(range(row.line, self.extents[row.line] + 1))

    def in_macro(self, row):
        return row.line in self.macro_lines


class Places:
    """The judged calls and declarations of one file. A report means the row of its own line and those that name this line as their
    other end; else the rows in whose statement it stands; else, at the head of a loop, the rows of this loop. If some of them are
    churn, these."""

    def __init__(self, path, rows):
        self.at, self.within, self.of_loop = {}, {}, {}
        self.macro_lines = set()
        for r in rows:
            for line in [r.line] + [int(x) for x in r.others.split(",") if x != "-"]:
                self.at.setdefault(line, []).append(r)
            self.of_loop.setdefault(int(r.loop), []).append(r)
        by_line = {r.line: r for r in rows}
        for macro, tok in token_streams(path, rows):
            first = 0
            for i, (t, line) in enumerate(tok):
                if t in (";", "{", "}") or t[0] == "#":
                    self.statement(by_line, tok[first][1], line)
                    first = min(i + 1, len(tok) - 1)
            if macro:
                self.macro_lines.update(line for _, line in tok if line in by_line)

    def statement(self, by_line, first, last):
        rows = [by_line[line] for line in range(first, last + 1) if line in by_line]
        for line in range(first, last + 1):
            for r in rows:
                self.within.setdefault(line, [])
                if r not in self.within[line]:
                    self.within[line].append(r)

    def judged(self, line):
        means = self.at.get(line) or self.within.get(line) or self.of_loop.get(line, [])
        return [r for r in means if r.verdict == "churn"] or means[:1]

    def reached(self, row, lines):
        return row.line in lines

    def in_macro(self, row):
        return row.line in self.macro_lines


def token_streams(path, rows):
    if not rows and not os.path.isfile(path):  # a #line may name a file that is not there
        return
    with open(path, errors="replace") as f:
        yield from streams(f.read())


class Feature(collections.namedtuple("Feature", "name stem labels reports columns wanted also marks passes remarks check source")):
    """`columns` of a label file; rows `wanted` must be found, rows `also` may be; `marks` are shares of the wanted rows to tell apart;
    `passes` and `remarks` choose from the optimization record (a remark's type and name), `check` from clang-tidy's names."""

    def row(self):
        return collections.namedtuple("Row", self.columns)


SPIN_LOOPS = Feature(
    name="spin-loops", stem="", labels="labels.tsv", reports="labels-reports.tsv",
    columns="corpus file line verdict kind hint a b doubt", wanted="spin", also="sleep-poll",
    marks={"with hint": lambda r: r.hint != "-"}, passes="vf-spin-loops",
    # The remarks that say: this loop waits. NotAWait (retry, device) and Unoptimized are none.
    remarks=lambda kind, name: name in ("SpinLoopBlocks", "SpinLoopPauses", "SpinLoopYields", "SpinLoopKept"),
    check="vfriendly-spin-loops", source=Loops)

HEAP_CHURN = Feature(
    name="heap-churn", stem="heap-churn-", labels="heap-labels.tsv", reports="heap-reports.tsv",
    columns="corpus file line verdict kind local others loop calls first second doubt", wanted="churn", also="callee",
    marks={"local": lambda r: r.local == "1", "sure": lambda r: r.doubt == "0"}, passes="vf-heap-churn",
    # What was changed, and what should be but was not proved.
    remarks=lambda kind, name: kind in ("Passed", "Missed"),
    check="vfriendly-heap-churn-*", source=Places)

FEATURES = {f.name: f for f in (SPIN_LOOPS, HEAP_CHURN)}
