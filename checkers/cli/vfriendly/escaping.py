# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One function for each kind of output, through which every text of others passes.

Names of files, symbols, options and processes, and lines of code, may contain any bytes: escapes that
change a terminal, new lines, commands of a CI system, links and mentions.
"""

import html
import os
import re
import sys
from urllib.parse import quote

# Control characters, those that change the direction of text or have no width, separators of lines, and what
# stands for bytes that are no UTF-8.
_INVISIBLE = ("\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
              "\ud800-\udfff\U000e0000-\U000e0fff")
_ODD = re.compile(f"[{_INVISIBLE}]")
_ODD_OR_LINE = re.compile(f"[{_INVISIBLE}\n]")
# GitHub's runner takes ##[NAME] anywhere in a line for a command, and ::NAME:: at the beginning; Azure's
# takes ##vso[, and TeamCity ##teamcity[.
_COMMAND = re.compile(r"#(?=#\w*\[)")
_COLONS = re.compile(r"^(\s*):(?=:)", re.MULTILINE)
# Also what is made a link without a mark: the scheme's colon, and the dot of www.
_MARKUP = re.compile(r"[\\`<&\[\]!@#|]|:(?=//)|(?<=www)\.", re.IGNORECASE)


_LINK = re.compile(r":(?=//)|\]\(")


def _code(match: "re.Match[str]") -> str:
    return _code_of(match[0])


def _code_of(character: str) -> str:
    number = ord(character)
    if number == 10:
        return "\\n"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def lines(text: str) -> str:
    """Text of several lines for a terminal or a log: the new lines are our own."""
    return _COLONS.sub(r"\1\\x3a", _COMMAND.sub(r"\\x23", _ODD.sub(_code, text)))


def terminal(text: str) -> str:
    """Text within one line for a terminal or a log."""
    return _COLONS.sub(r"\1\\x3a", _COMMAND.sub(r"\\x23", _ODD_OR_LINE.sub(_code, text)))


def report(text: str) -> str:
    """Text of several lines in a report that others show, some as Markdown: no links, no change of direction."""
    return _LINK.sub(lambda m: _code(m) if len(m[0]) == 1 else f"]{_code_of('(')}", _ODD.sub(_code, text))


def sarif(text: str) -> str:
    """The text of a message in SARIF, in which [TEXT](PLACE) is a link unless the brackets have backslashes."""
    return re.sub(r"[\\\[\]]", r"\\\g<0>", _ODD.sub(_code, text))


def document(text: str) -> str:
    """Text in JSON, whose writer escapes control characters; strings of others need be Unicode."""
    return text.encode("utf-8", "replace").decode() if any("\ud800" <= c <= "\udfff" for c in text) else text


def html_text(text: str) -> str:
    """Text or the value of an attribute in HTML."""
    return html.escape(_ODD.sub(_code, text))


def github_data(text: str) -> str:
    """The message of one of GitHub's workflow commands; its new lines are kept."""
    return _ODD.sub(_code, text).replace("%", "%25").replace("\n", "%0A")


def github_property(text: str) -> str:
    """The value of a property of one of GitHub's workflow commands."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Text within one line of a comment in Markdown: no code, HTML, links, images, mentions, references."""
    return _MARKUP.sub(lambda m: f"&#{ord(m[0])};", _ODD_OR_LINE.sub(_code, text))


def markdown_code(text: str) -> str:
    """Text within backticks in a line of Markdown, with the backticks."""
    plain = _ODD_OR_LINE.sub(_code, text)
    ticks = "`" * (_longest_ticks(plain, 0) + 1)
    blank = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{blank}{plain}{blank}{ticks}"


def code(text: str) -> str:
    """Lines of code that are shown, as in a fence, and not applied: in which order they are read is as it looks."""
    return _ODD.sub(_code, text.replace("\r\n", "\n"))


def fence(text: str) -> str:
    """A fence in Markdown that nothing in the text ends."""
    return "`" * (_longest_ticks(text, 2) + 1)


def _longest_ticks(text: str, least: int) -> int:
    return max([least, *(len(run) for run in re.findall("`+", text))])


def uri(path: str) -> str:
    try:
        return quote(os.fsencode(path))
    except UnicodeEncodeError:
        return quote(document(path))


def say(text: str) -> None:
    """Prints one line about this run to stderr."""
    print(f"vfriendly: {terminal(text)}", file=sys.stderr, flush=True)
