# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""citations.py SOURCE TEXTS: compares the sections, tables, figures, listings and chapters that are cited with the papers.

TEXTS is a folder with the papers as text; without it, only that each citation names its paper is checked. A citation
belongs to the paper that is named last before it in its paragraph, else to the first one after it, else
to that of its folder.
"""

import os
import re
import sys
from dataclasses import dataclass
from functools import cached_property

FOLDERS = ("guidelines", "examples", "runtime", "checkers", "passes", "test", "README.md")
ENDINGS = (".md", ".c", ".h", ".cpp", ".py", ".tsv", ".test", ".def")
LEFT_OUT = {"corpus", "build", "__pycache__", "suites"}
SELF = {"citations.py", "citations.test"}

CITED = re.compile(r"\b(section|table|figure|listing|chapter|appendix)s? "
                   r"((?:\d+(?:\.\d+)*|[A-D])[a-d]?\b(?!\.?\d|-)(?:(?:, (?:and )?| and | to )\d+(?:\.\d+)*[a-d]?\b(?! of | in |%| [a-z]+s\b| [kMG]B))*)", re.I)
NUMBER = re.compile(r"\d+(?:\.\d+)*|\b[A-D]\b")
PREFIX = re.compile(r"^\s*(?:/{2,}!?|/\*+|\*+/?|#+|;+|>)?\s?")


@dataclass(frozen=True)
class Paper:
    file: str
    heading: str  # of sections; {} stands for the number
    figure: str = "Figure"

    def holds(self, texts: str, kind: str, number: str) -> bool:
        with open(os.path.join(texts, self.file), encoding="utf-8") as file:
            text = file.read()
        exact = re.escape(number)
        if kind == "section":
            return bool(re.search(rf"^{self.heading.format(exact)}", text, re.M))
        if kind in ("chapter", "appendix"):
            return bool(re.search(rf"^(?:{kind} {exact}$|{exact}\.1\s)", text, re.M | re.I))
        word = self.figure if kind == "figure" else kind
        return bool(re.search(rf"^{word}\s+{exact}[:.]", text, re.M | re.I))


SCHILDERMANS = Paper("phd2022-schildermans.txt", r"{}\.?\s+[A-Z]")
PAPERS = {"dissertation": SCHILDERMANS,
          "TPDS": Paper("tpds2021-virtualization-overhead.txt", r"{}\.?\s+[A-Z]", r"Fig\."),
          "Gleaner": Paper("atc2014-gleaner.txt", r"{}\.?\s+[A-Z]"),
          "Voron": Paper("phd2018-voron-numa-fr.txt", r"{}\s+[A-Z]")}
NAMES = (("TPDS", r"Schildermans et al\.|TPDS"), ("dissertation", r"[Dd]issertation|Schildermans(?:'|, PhD thesis| turned)"),
         ("Voron", r"Voron"), ("Gleaner", r"Ding et al\.|Gleaner['’]s|Gleaner, "), ("", r"Programmer's Manual|virtio \d|OpenMP \d"))
# "The thesis" is that of the feature.
OF_FOLDERS = (("numa", "Voron"), ("gleaner", "Gleaner"), ("heap", "dissertation"), ("malloc", "dissertation"))


class Paragraph:
    def __init__(self, place: str, text: str) -> None:
        self.place, self.text = place, text

    @cached_property
    def named(self) -> list[tuple[int, str]]:
        return sorted((m.start(), paper) for paper, name in NAMES for m in re.finditer(name, self.text))

    def paper(self, at: int) -> str | None:
        before = [paper for position, paper in self.named if position < at]
        after = [paper for position, paper in self.named if position > at]
        folder = next((paper for word, paper in OF_FOLDERS if word in self.place), None)
        return before[-1] if before else after[0] if after else folder

    def citations(self):
        for found in CITED.finditer(self.text):
            for number in NUMBER.findall(found[2]):
                yield found.start(), found[1].lower(), number


def files(source):
    for folder in FOLDERS:
        start = os.path.join(source, folder)
        if os.path.isfile(start):
            yield start
        for path, below, names in os.walk(start):
            below[:] = sorted(b for b in below if b not in LEFT_OUT)
            yield from (os.path.join(path, n) for n in sorted(names) if n.endswith(ENDINGS) and n not in SELF)


def paragraphs(source, path):
    """Paragraphs end at blank lines, and rows of tables and code at each line's end."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    place, text, first = os.path.relpath(path, source), "", 0
    for number, line in enumerate([*lines, ""], 1):
        is_row = line.startswith("|")
        words = PREFIX.sub("", line, count=1).strip()
        if (not words or is_row) and text:
            yield Paragraph(f"{place}:{first}", text)
            text = ""
        if is_row:
            yield Paragraph(f"{place}:{number}", words)
        elif words:
            first = first if text else number
            text = f"{text} {words}".strip()


def main():
    source, texts = sys.argv[1:]
    checked, wrong = 0, []
    for path in files(source):
        for paragraph in paragraphs(source, path):
            for at, kind, number in paragraph.citations():
                paper = paragraph.paper(at)
                if paper == "":  # a manual, whose text is not there
                    continue
                checked += 1
                if paper is None:
                    wrong.append(f"{paragraph.place}: {kind} {number}: of what?")
                elif os.path.isdir(texts) and not PAPERS[paper].holds(texts, kind, number):
                    wrong.append(f"{paragraph.place}: {kind} {number}: is not in {paper}")
    print("\n".join(wrong))
    print(f"{checked} citations, {len(wrong)} wrong" + ("" if os.path.isdir(texts) else ", without the papers' text"))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
