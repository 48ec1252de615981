# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The blocks of commands of the pages, and why some do not run.

A block of shell commands runs in two places: here (test/driver/docs.test, with a build from source) and
in a bare root (./dev docs --bare, with the packages). A comment directly before a block says otherwise:

  <!-- not run: REASON; words -->     in neither place
  <!-- bare only: REASON; words -->   only in a bare root
  <!-- not bare: REASON; words -->    only here
  <!-- in: FOLDER -->                 where it runs: a folder below the sources
  <!-- foreground -->                 its last command is a server, which is ended after a time

REASONS has all reasons; each is checked, so that none outlives its cause.
"""

import glob
import json
import os
import re

MARKS = ("not run", "bare only", "not bare")
BLOCK = re.compile(r"(?m)(?P<marks>(?:^<!-- (?:not run|bare only|not bare|in|foreground)\b.*-->\n)*)^```(?P<language>\w+)\n(?P<text>(?:.*\n)*?)^```$")
MARK = re.compile(r"<!-- (?:(?P<kind>not run|bare only|not bare): (?P<word>[\w-]+)(?: (?P<about>[^;]+))?(?:; .+)?|in: (?P<folder>\S+)|(?P<foreground>foreground)) -->")


class Unfounded(Exception):
    """A reason that is unknown, or not true."""


class Block:
    def __init__(self, page, line, match):
        self.page, self.line, self.language, self.text = page, line, match["language"], match["text"]
        self.folder, self.foreground, self.reasons = None, False, []
        for text in match["marks"].splitlines():
            mark = MARK.fullmatch(text)
            if not mark:
                raise Unfounded(f"{self.where}: '{text}' is no mark: see test/rigs/docs/blocks.py")
            self.folder = mark["folder"] or self.folder
            self.foreground = self.foreground or bool(mark["foreground"])
            if mark["kind"]:
                self.reasons.append((mark["kind"], mark["word"], (mark["about"] or "").strip()))

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    def left_out(self, where, distribution=None, llvm=None):
        """Returns why the block does not run "here" or in a "bare" root of DISTRIBUTION with LLVM, or None if it does."""
        for kind, word, about in self.reasons:
            if kind == ("bare only" if where == "here" else "not bare") or kind == "not run":
                if word in CONDITIONS and not CONDITIONS[word](distribution, llvm):
                    continue
                return f"{word} {about}".strip()
        return None


# Reasons that hold for some distributions only.
CONDITIONS = {"debian": lambda distribution, _: not distribution.startswith("debian"), "llvm-22": lambda _, llvm: llvm != 22}


def has(pattern):
    return lambda source, block, about: re.search(pattern, block.text)


def placeholder(source, block, about):
    """Each word named is in the block, and is no file that a reader of the page has. REPOSITORY is one that nobody knows yet."""
    words = about.split(", ")
    if "REPOSITORY" in words and project(source)["repository"]:
        return False
    first = os.path.join(source, "examples/first")
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", block.text) and not os.path.lexists(os.path.join(first, word)) for word in words)


def tested(source, block, about):
    """What runs it instead: a test that has its subcommands of vfriendly, or a command of ./dev."""
    if about.startswith("./dev "):
        with open(os.path.join(source, "dev"), encoding="utf-8") as file:
            usage = file.read()
        return all(re.search(rf"(?m)^  {re.escape(word)} |\[{re.escape(word)}\b|[ ;]{re.escape(word)} ", usage) for word in about.split()[1:])
    path = os.path.join(source, about)
    if not os.path.isfile(path):
        return False
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name in re.findall(r"%S/(Inputs/\S+)", text):
        with open(os.path.join(os.path.dirname(path), name), encoding="utf-8") as file:
            text += file.read()
    return all(word in text for word in re.findall(r"vfriendly ([a-z]\w*)", block.text))


def project(source):
    with open(os.path.join(source, "project.json"), encoding="utf-8") as file:
        return json.load(file)


def unreleased(source, block, about):
    return not project(source)["downloads"]


# Reason: whether it is true of a block. What follows the word, up to a semicolon, is ABOUT.
REASONS = {
    "fragment": lambda source, block, about: block.language != "sh",       # of a file of another language
    "placeholder": placeholder,                                            # WORD, WORD: stands for something of the reader's
    "tested": tested,                                                      # PATH or ./dev COMMAND: what runs the same
    "installs": has(r"apt-get |/pip |/etc/apt/"),                          # changes the system
    "packages": has(r"/usr/lib/vfriendly|\./lib\w+\.deb"),                   # needs what the packages install
    "server": has(r"-server\b"),                                           # needs a server that is not installed
    "kernel": has(r"kernel-test|linux-source"),                            # builds kernels
    "host": has(r"(?m)^host# "),                                           # needs the host
    "others": has(r"\./configure|git clone|pip download|test/rigs/suites/"),  # fetches sources of another project
    "built": has(r"(?m)^(?:\./dev|build/|test/|examples/)|[ =]build/|\.\./runtime/include|\$PWD/build|\$VF/aarch64"),  # needs a build from source
    "release": unreleased,                                                 # needs a public release
    "llvm-22": has(r"mlir"),                                               # MLIR is built for LLVM 22 only
    "debian": has(r"debian"),                                              # other distributions need it not
}


def check(source, block):
    for kind, word, about in block.reasons:
        if word not in REASONS:
            raise Unfounded(f"{block.where}: '{word}' is no reason; these are: {', '.join(sorted(REASONS))}")
        if not REASONS[word](source, block, about):
            raise Unfounded(f"{block.where}: '{kind}: {f'{word} {about}'.strip()}' is not true of the block")
    if block.folder and not os.path.isdir(os.path.join(source, block.folder)) and not block.folder.startswith("build"):
        raise Unfounded(f"{block.where}: no folder {block.folder}")


def blocks(source, page):
    """Returns the blocks of PAGE that are shell commands or have a mark, each checked."""
    with open(os.path.join(source, page), encoding="utf-8") as file:
        text = file.read()
    found = [Block(page, text.count("\n", 0, match.start("text")) + 1, match) for match in BLOCK.finditer(text)]
    # A mark that stands elsewhere would be without effect.
    stray = [line for line in re.findall(rf"(?m)^<!-- (?:{'|'.join(MARKS)}).*$", text)]
    if len(stray) != sum(len(block.reasons) for block in found):
        raise Unfounded(f"{page}: a mark does not stand directly before a block")
    for block in found:
        check(source, block)
    return [block for block in found if block.language == "sh"]


def pages(source):
    """Returns all pages that can have blocks."""
    return ["README.md", *sorted(glob.glob("guidelines/**/*.md", root_dir=source, recursive=True)),
            *sorted(glob.glob("examples/**/README.md", root_dir=source, recursive=True))]
