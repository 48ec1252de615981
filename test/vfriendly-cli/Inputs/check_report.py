# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_report.py FOLDER: the page is whole, well-formed and loads nothing."""

import html.parser
import sys

from project import Project

VOID = {"meta", "input", "br", "rect"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.text = [], set(), ""
        self.shown, self.classes = [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        assert "src" not in values and tag != "link", (tag, values)
        assert tag == "a" or "href" not in values, (tag, values)
        if "finding" in values.get("class", "").split():
            self.shown.append("open" in values)
        self.classes.update(values.get("class", "").split())
        if "id" in values:
            assert values["id"] not in self.ids, values
            self.ids.add(values["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID, tag

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.open)

    def handle_data(self, data):
        self.text += data


def main():
    project = Project(sys.argv[1])
    project.edit("src/user.c", "// Nothing", "// <b>&amp; Nothing")
    project.edit("src/flag.c", "while (!go)", "while (!go /* </pre><script> */)")
    project.entries.append(project.entry("src/vanished.c"))
    project.write()
    project.run("report", "--remarks", "-o", "page.html", status=3)
    page = Page()
    page.feed((project.root / "page.html").read_text())
    assert not page.open, page.open
    found = project.sarif(status=3)["results"]
    assert len(found) == 8 and {r["partialFingerprints"]["vfriendly/v1"] for r in found} <= page.ids
    for words in ("src/vanished.c: not examined", "/* </pre><script> */", "vf-spin-loops passed",
                  "+++ b/src/utf8.cpp", "𝄞 é", "éè"):
        assert words in page.text, words
    # The first finding shows what there is to see, and the lines of fixes have the colours of their kind.
    assert page.shown == [True] + [False] * 7, page.shown
    assert {"added", "removed"} <= page.classes, page.classes
    project.run("report", "-o", "no/where.html", status=2)


main()
