# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of others in every output: all bytes, all formats, and random mixtures of what has a meaning somewhere."""

import contextlib
import html.parser
import io
import json
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.environ["VF_SOURCE"], "checkers", "cli"))
from vfriendly import catalogue, escaping, formats, page  # noqa: E402
from vfriendly.findings import Edit, Extent, Finding, Note, Remark  # noqa: E402
from vfriendly.scanning import Problem, Result  # noqa: E402
from vfriendly.sources import Sources  # noqa: E402

ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
PIECES = ["\033]0;T\007", "\033[2K", "\n", "\r", "\r\n", "::error::x", "::stop-commands::x", "##[error]x", "##vso[task.x]", "```", "````",
          "`", "<script>alert(1)</script>", "\"><img src=x>", "&lt;", "![a](http://x)", "[a](javascript:x)", "@everyone", "#1", "\\", "%0A",
          "%", ",", ":", "\u202e", "\u2066", "\x00", "\x9b31m", "\udce9", "\ud800", "é", "\U0001f600", "\u2028", " ", "a", "|", "~~~",
          "'", "\t", "##teamcity[buildStop]", "www.x.org", "http://x", "</style>", "]]>", "-->", "suggestion"]


def texts():
    yield from ("".join(map(chr, range(start, start + 64))) for start in range(0, 0x2200, 64))
    yield bytes(range(256)).decode("latin-1")
    yield os.fsdecode(bytes(range(256)))
    yield from PIECES
    seed = int(os.environ.get("VF_TEST_SEED", time.time_ns()))
    print("VF_TEST_SEED =", seed)
    draw = random.Random(seed)
    for _ in range(300):
        yield "".join(draw.choice(PIECES) for _ in range(draw.randint(1, 12)))


def is_log(text):
    """Nothing in the log is an escape or a command, of GitHub or of Azure."""
    assert not ODD.search(text), ascii(text)
    assert not re.search(r"##\w*\[", text), ascii(text)
    assert not any(line.lstrip().startswith("::") for line in text.split("\n")), ascii(text)


class Page(html.parser.HTMLParser):
    """Counts elements, so that a text that made one is noticed."""

    def __init__(self):
        super().__init__()
        self.counts, self.attributes = {}, set()

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.attributes.update(name for name, _ in attributes)


def result_of(text):
    path = "/r/" + text.replace("/", "_").replace("\0", "_")
    source = f"{text}\n  {text}\nend\n".encode("utf-8", "replace")
    sources = Sources({path: source, "/r/a.c": source})
    fix = (Edit(path, 0, 1, text.encode("utf-8", "replace").decode()),)
    one = Finding("vfriendly-spin-loops", path, 2, "Warning", [text], Extent(0, 4), fix, [Note("/r/a.c", 1, text)], [text], fingerprint="f" * 32,
                  line=1, column=3, remarks=[Remark("Passed", "vf-x", path, 1, 1, text)])
    two = Finding("vfriendly-spin-loops", "/r/a.c", 0, "Warning", ["plain", text], None, fix, [], [text], fingerprint="e" * 32, line=1, column=1)
    return Result("/r", [one, two], [Problem(path, "partial", text), Problem("/r/a.c", text, text)], sources, 2,
                  dropped=[text], left_out=[text])


def outside_fences(markdown):
    """Returns the lines of a comment that are not within fences."""
    fence, out = "", []
    for line in markdown.split("\n"):
        ticks = re.match(" {0,3}(`{3,})[^`]*$", line)
        if fence:
            if ticks and len(ticks[1]) >= len(fence) and not line.strip(" `"):
                fence = ""
        elif ticks:
            fence = ticks[1]
        else:
            out.append(line)
    assert not fence, markdown
    return out


def is_comment(markdown):
    for line in outside_fences(markdown):
        plain = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", line)  # spans of code
        plain = re.sub(r"\[vfriendly-[\w-]+\]\([^)]*\)|&#\d+;", "", plain)
        assert "://" not in plain and "www." not in plain.lower(), (line, plain)
        assert not re.search(r"[<`\[\]@!|\\]|(?<!&)#", plain.replace("Fix:", "")), (line, plain)


# Keys whose values others need as they are: names of files, and code.
EXACT = {"path", "uri", "uriBaseId", "replacement", "insertedContent", "text of suggestion", "url", "helpUri", "informationUri", "units", "comments",
         "body", "help", "$schema"}


def shown(document, key=""):
    """Yields the strings of a report that are shown as text."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name == "comments" and isinstance(value, dict):  # Gerrit's, by the names of files
                value = list(value.values())
                name = ""
            if name == "suggestions":
                continue
            if name not in EXACT:
                yield from shown(value, name)
    elif isinstance(document, list):
        for value in document:
            yield from shown(value, key)
    elif isinstance(document, str):
        yield document


def is_report(name, document):
    for text in shown(document):
        assert not ODD.search(text), (name, ascii(text))
        plain = text.replace(catalogue.address(), "").replace(catalogue.rule("vfriendly-spin-loops").url, "")
        if name == "sarif":
            plain = re.sub(r"\\[\\\[\]]", "", text)
            assert not re.search(r"\]\(", plain), (name, text)
        elif name == "rdjson":
            plain = plain.split("\nFix:")[0]  # what follows is in a fence
            assert not re.search(r"\[.*\]\(|://|www\.", plain, re.IGNORECASE), (name, text)
        else:
            assert "://" not in plain and "](" not in plain, (name, text)


def main():
    names = [n for n in formats.NAMES]
    wanted = Page()
    wanted.feed(page.write(result_of("x"), "x"))
    for text in texts():
        for shown in (escaping.terminal(text), escaping.lines(text), escaping.terminal("vfriendly: " + text)):
            is_log(shown)
        assert "\n" not in escaping.terminal(text) + escaping.github_data(text) + escaping.markdown(text)
        assert not set("\r\n:,") & set(escaping.github_property(text))
        assert not set("<>\"'") & set(escaping.html_text(text))
        told = io.StringIO()
        with contextlib.redirect_stderr(told):
            escaping.say(text)
        is_log(told.getvalue())
        assert told.getvalue().count("\n") == 1 and told.getvalue().startswith("vfriendly: ")
        result = result_of(text)
        for name in names:
            try:
                out = formats.write(name, result)
            except Exception as error:
                raise AssertionError((name, ascii(text))) from error
            out.encode()
            if name == "text":
                is_log(out)
                assert out.count("\n") == 7, ascii(out)
            elif name == "github":
                assert all(line.startswith("::") and line.count("::") >= 2 for line in out.splitlines()), out
                assert out.count("\n") == 4 and not ODD.search(out), ascii(out)
            else:
                document = json.loads(out)
                if name != "github-review":
                    is_report(name, document)
            if name == "github-review":
                for body in [document["body"].replace("\n\n", "\n"), *(c["body"] for c in document["comments"])]:
                    is_comment(body)
        got = Page()
        got.feed(page.write(result, text))
        assert got.counts.get("script", 0) == wanted.counts["script"] and got.counts.get("style") == wanted.counts["style"]
        assert set(got.counts) == set(wanted.counts) and got.attributes == wanted.attributes, ascii(text)


main()
