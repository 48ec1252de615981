#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""./dev site: builds the guidelines as a static site and checks its links.

The generator and the link checker come from pip, pinned, into a venv beside the
site. A warning of the generator, a dead link or anchor, and a page that would
load something from another host each fail the build.
"""

import argparse
import html.parser
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import stage

ABSOLUTE = re.compile(r"\s*(https?:)?//", re.I)


def fail(why):
    print(f"site: {why}", file=sys.stderr)
    sys.exit(1)


def tools(venv):
    """Installs the pinned tools into VENV unless they are there; returns its bin folder."""
    with open(os.path.join(HERE, "requirements.txt")) as file:
        wanted = file.read()
    stamp, folder = os.path.join(venv, "requirements.txt"), os.path.join(venv, "bin")
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return folder
    print("site: installing zensical and lychee into", venv, file=sys.stderr)
    shutil.rmtree(venv, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", venv],
        [os.path.join(folder, "pip"), "install", "--quiet", "--disable-pip-version-check", "-r",
         os.path.join(HERE, "requirements.txt")],
    ):
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            fail(f"{' '.join(command)} failed; is the network there?\n{run.stdout}{run.stderr}")
    with open(stamp, "w") as file:
        file.write(wanted)
    return folder


class Loads(html.parser.HTMLParser):
    """Collects what a browser would load from another host for a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        url = values.get("src") or values.get("srcset") or values.get("data")
        if tag == "link" and values.get("rel") != "canonical":
            url = url or values.get("href")
        if url and ABSOLUTE.match(url):
            self.found.append(url.strip())
        # The theme fetches the library that draws these.
        if "mermaid" in (values.get("class") or "").split():
            self.found.append("a mermaid diagram: draw it as SVG")


def foreign(site):
    """Yields 'file: what' for all that pages and style sheets load from other hosts."""
    for folder, _, names in os.walk(site):
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".html"):
                with open(path) as file:
                    parser = Loads()
                    parser.feed(file.read())
                found = parser.found
            elif name.endswith(".css"):
                with open(path) as file:
                    found = re.findall(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)", file.read())
            else:
                continue
            yield from (f"{os.path.relpath(path, site)}: {what}" for what in found)


def main():
    parser = argparse.ArgumentParser(prog="./dev site", description=__doc__.split("\n")[0])
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("--output", help="where the site goes, build/site without it")
    parser.add_argument("--repository", metavar="URL",
                        help="address at which the repository's files are, instead of project.json's; without either the site has a copy of those that pages link to")
    parser.add_argument("--stage-only", action="store_true", help="only write what the generator would read")
    parser.add_argument("--source", default=os.path.dirname(os.path.dirname(HERE)), help=argparse.SUPPRESS)
    options = parser.parse_args()
    site = os.path.abspath(options.output or os.path.join(options.build, "site"))
    folder = site + "-stage"
    try:
        staged = stage.stage(os.path.abspath(options.source), "guidelines", folder, options.repository)
    except (stage.Error, OSError, ValueError) as error:
        fail(error)
    if options.stage_only:
        print(f"{len(staged)} pages in {folder}")
        return
    programs = tools(os.path.join(options.build, "site-venv"))
    run = subprocess.run(
        [os.path.join(programs, "zensical"), "build", "--clean", "--strict", "-f", os.path.join(folder, "mkdocs.yml")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "NO_COLOR": "1"},
    )
    if run.returncode or re.search("warning|error", run.stdout, re.I):
        found = re.sub(r"\x1b\[[\d;]*m", "", run.stdout).partition("Traceback")[0]
        fail(f"zensical found faults:\n{found}")
    # The generator writes only below the folder of its configuration.
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(os.path.join(folder, "site"), site)
    others = list(foreign(site))
    if others:
        fail("pages would load from other hosts:\n" + "\n".join(others))
    run = subprocess.run(
        [os.path.join(programs, "lychee"), "--offline", "--include-fragments", "--no-progress", "--mode", "plain",
         "--root-dir", site, site],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )
    if run.returncode:
        fail(f"dead links:\n{run.stdout}")
    print(f"{len(staged)} pages in {site}: python3 -m http.server -d {os.path.relpath(site)}")


if __name__ == "__main__":
    main()
