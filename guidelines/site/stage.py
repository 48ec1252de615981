# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies the guidelines into a staging folder in the form that the site generator takes.

Pages stay readable as plain Markdown in the repository. On the way to the site
  - a link out of guidelines/ leads to a page of the site that shows that file or
    folder, or, with a repository's address, to the file there;
  - [text](PATH "example NAME") alone on a line becomes the lines of PATH between
    the comments `example: NAME` and `example end`, without those for FileCheck and lit;
  - [text](PATH "plot") alone on a line becomes a bar chart of PATH, and "timeline" a picture, see plot.py;
  - [text](PATH "part NAME") alone on a line becomes the lines of the page PATH between the comments
    `part: NAME` and `part end`.
A file that is not there is an error that names the page, the line and the file.
"""

import json
import os
import posixpath
import re
import shutil

import plot

LINK = re.compile(r'\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)(?: "([^"]*)")?\)')
FENCE = re.compile(r"^\s*(```|~~~)")
TESTING = re.compile(r"(//|#|;)\s*([A-Z]+-)?(CHECK|RUN|REQUIRES)[A-Z-]*:")
# Clang's -verify, after the code that it is about.
EXPECTED = re.compile(r"\s*// expected-\w+(@\S+)? \{\{.*\}\}")
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "c++", ".hpp": "c++", ".py": "python", ".patch": "diff", ".json": "json"}
LISTED = 400  # of a folder, files that its page lists


class Error(Exception):
    """A page that cannot be staged; the text is for its author."""


def slashes(path):
    return path.replace(os.sep, "/")


class Stage:
    """Stages pages and, through their links, what else of the repository they show."""

    def __init__(self, source, guidelines, docs, repository=None):
        self.source, self.guidelines, self.docs = source, guidelines, docs
        self.repository = repository.rstrip("/") if repository else None
        self.staged = {}  # path in the repository -> path in docs
        self.todo = []

    def in_source(self, path):
        return os.path.join(self.source, path)

    def inside(self, path):
        return path == self.guidelines or path.startswith(self.guidelines + "/")

    def target(self, path):
        """Returns where PATH of the repository is in the site, and sees that it gets there."""
        if path in self.staged:
            return self.staged[path]
        if self.inside(path) and path.endswith(".md"):
            to = posixpath.relpath(path, self.guidelines)
            to = posixpath.join(posixpath.dirname(to), "index.md") if posixpath.basename(to) == "README.md" else to
        elif os.path.isdir(self.in_source(path)):
            readme = posixpath.join(path, "README.md")
            if os.path.exists(self.in_source(readme)):
                return self.target(readme)
            to = posixpath.join("repository", path, "files.md")
        elif path.endswith(".md"):
            # index.md and README.md would become the address of the folder.
            to = posixpath.join("repository", posixpath.dirname(path), "about-" + posixpath.basename(path).lower())
        else:
            # Site generators leave out files and folders whose names begin with a dot.
            shown = "/".join(part.lstrip(".") for part in path.split("/"))
            to = posixpath.join("repository", shown + ".md")
        self.staged[path] = to
        self.todo.append(path)
        return to

    def write(self, to, text):
        to = os.path.join(self.docs, to)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "w") as file:
            file.write(text)

    def read(self, path, where):
        try:
            with open(self.in_source(path)) as file:
                return file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"{where}: cannot read {path}: {error}") from error

    def link(self, match, page, where, into=None):
        """Returns the link of PAGE as the page INTO has it, which is the same page unless it shows a part of PAGE."""
        text, url, title = match.groups()
        if re.match(r"[a-z]+:", url) or url.startswith("#"):
            return match.group(0)
        into = into or page
        path, hash_, anchor = url.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if path.startswith("../") or not os.path.exists(self.in_source(path)):
            raise Error(f"{where}: dead link: there is no {path}")
        if self.repository and not self.inside(path):
            return f"[{text}]({self.repository}/{path}{hash_}{anchor})"
        to = posixpath.relpath(self.target(path), posixpath.dirname(self.target(into)) or ".")
        return f"[{text}]({to}{hash_}{anchor})"

    def part(self, path, name, page, where):
        """Returns the part of the page PATH called NAME, as PAGE shows it."""
        text = self.read(path, where)
        match = re.search(rf"<!-- part: {re.escape(name)} -->\n(.*?)<!-- part end -->", text, re.S)
        if not match:
            raise Error(f"{where}: {path} has no `part: {name}` that ends")
        first = text[: match.start(1)].count("\n") + 1
        return self.lines(match.group(1), path, first, page)

    def example(self, path, name, where):
        """Returns the part of PATH called NAME as a code block."""
        lines, inside = [], False
        for line in self.read(path, where).splitlines():
            if re.search(rf"example: {re.escape(name)}\b", line):
                inside = True
            elif inside and "example end" in line:
                indent = min((len(l) - len(l.lstrip()) for l in lines if l.strip()), default=0)
                code = "\n".join(l[indent:] for l in lines)
                return f"```{LANGUAGES.get(posixpath.splitext(path)[1], '')}\n{code}\n```"
            elif inside and not TESTING.search(line):
                lines.append(EXPECTED.sub("", line))
        raise Error(f"{where}: {path} has no `example: {name}` that ends")

    def figure(self, draw, path, text, page, where):
        try:
            svg = draw(json.loads(self.read(path, where)))
        except (KeyError, ValueError, TypeError) as error:
            raise Error(f"{where}: {path} has no figures for a plot: {error!r}") from error
        to = posixpath.join("plots", path.replace("/", "-") + ".svg")
        self.write(to, svg)
        return f"![{text}]({posixpath.relpath(to, posixpath.dirname(self.target(page)) or '.')})"

    def shown(self, line, page, where, into):
        """Returns what LINE of PAGE shows in its place in INTO: an example, a plot, a part, or its links."""
        match = LINK.fullmatch(line.strip())
        kind = (match.group(3) or "").split() if match else []
        if kind and kind[0] in ("example", "plot", "timeline", "part"):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(page), match.group(2)))
            if kind[0] == "plot":
                return self.figure(plot.chart, path, match.group(1), into, where)
            if kind[0] == "timeline":
                return self.figure(plot.timeline, path, match.group(1), into, where)
            if len(kind) != 2:
                raise Error(f'{where}: "{kind[0]}" needs the name of a part')
            if kind[0] == "part":
                return self.part(path, kind[1], into, where)
            return self.link(match, page, where, into) + ":\n\n" + self.example(path, kind[1], where)
        return LINK.sub(lambda m: self.link(m, page, where, into), line)

    def lines(self, text, page, first, into):
        """Returns TEXT, which begins in line FIRST of PAGE, as INTO shows it."""
        out, fence = [], None
        for number, line in enumerate(text.splitlines(), first):
            mark = FENCE.match(line)
            if mark and fence in (None, mark.group(1)):
                fence = None if fence else mark.group(1)
            elif not fence:
                # Code spans hold no links.
                if "](" in line:
                    if "](" in re.sub(r"`[^`]*`", "", LINK.sub("", line)):
                        raise Error(f"{page}:{number}: a link must begin and end in one line")
                    line = self.shown(line, page, f"{page}:{number}", into)
            out.append(line)
        return "\n".join(out)

    def page(self, path):
        """Stages a Markdown page of the repository."""
        text = self.lines(self.read(path, path), path, 1, path)
        head = "" if self.inside(path) else "---\nsearch:\n  exclude: true\n---\n\n"
        self.write(self.staged[path], head + text + "\n")

    def other(self, path):
        """Stages a page that shows a file or folder of the repository."""
        head = f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"
        if os.path.isdir(self.in_source(path)):
            names = sorted(
                slashes(os.path.relpath(os.path.join(folder, name), self.in_source(path)))
                for folder, folders, files in os.walk(self.in_source(path))
                for name in files
                if "__pycache__" not in folder
            )
            body = "```\n" + "\n".join(names[:LISTED]) + "\n```\n"
        else:
            language = LANGUAGES.get(posixpath.splitext(path)[1], "")
            body = f"``````{language}\n{self.read(path, path)}\n``````\n"
        self.write(self.staged[path], head + body)

    def run(self, pages):
        """Stages PAGES and all that they lead to. Raises Error."""
        for path in pages:
            self.target(path)
        while self.todo:
            path = self.todo.pop()
            if path.endswith(".md"):
                self.page(path)
            else:
                self.other(path)


def title(path):
    """Returns the title of a Markdown page: its first line."""
    with open(path) as file:
        first = file.readline().strip()
    if not first.startswith("# "):
        raise Error(f"{path}: the first line is no title")
    return first[2:]


def navigation(source, guidelines, catalogue):
    """Returns the site's navigation: (heading, pages), heading None for the start page."""
    pages = [(None, [f"{guidelines}/README.md"])]
    for heading, key in (("Guides", "guides"), ("Causes", "causes"), ("Features", "features")):
        pages.append((heading, [entry["guideline"] for entry in catalogue.get(key, [])]))
    pages.append(("Figures", [entry["figures"] for entry in catalogue["features"] if "figures" in entry]))
    missing = [p for _, ps in pages for p in ps if not os.path.exists(os.path.join(source, p))]
    if missing:
        raise Error(f"{guidelines}/catalogue.json: there is no {missing[0]}")
    return pages


def stage(source, guidelines, folder, repository=None):
    """Fills FOLDER with docs/ and mkdocs.yml, for a site in FOLDER/site. Raises Error."""
    here = os.path.dirname(os.path.abspath(__file__))
    shutil.rmtree(folder, ignore_errors=True)
    docs = os.path.join(folder, "docs")
    os.makedirs(docs)
    with open(os.path.join(source, guidelines, "catalogue.json")) as file:
        pages = navigation(source, guidelines, json.load(file))
    with open(os.path.join(source, "project.json")) as file:
        project = json.load(file)
    work = Stage(source, guidelines, docs, repository or project["files"])
    work.run([p for _, ps in pages for p in ps])
    nav = ["nav:"]
    for heading, ps in pages:
        if heading and ps:
            nav.append(f"  - {heading}:")
        for p in ps:
            entry = json.dumps(title(os.path.join(source, p)))
            nav.append(f"{'    ' if heading else ''}  - {entry}: {work.staged[p]}")
    shutil.copy(os.path.join(here, "site.css"), docs)
    with open(os.path.join(here, "mkdocs.yml")) as file:
        config = file.read() + (f"site_url: {json.dumps(project['site'])}\n" if project["site"] else "")
    with open(os.path.join(folder, "mkdocs.yml"), "w") as file:
        file.write(config + "\n".join(nav) + "\n")
    return sorted(work.staged)
