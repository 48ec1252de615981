# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""catalogue.py CATALOGUE SOURCE PLUGIN MODULE: one table, everywhere the same.

Title and sentence of each guide, cause and feature begin its page, and the figures of a cause are
on the pages of its features. A feature's page then says in at most 200 words what to do. The sentence of a feature stands in the comments of
its pass, its checks and its runtime, as far as it has them; the module lists exactly the checks of the
catalogue, and the plugin knows every pass.
"""

import json
import os
import re
import subprocess
import sys

HURRIED = 200  # words: what a reader takes in within a minute


def words(text):
    """Text without comment signs and line ends."""
    return " ".join(re.sub(r"(?m)^\s*(///|//|/\*|\*)", " ", text).split())


def headers(source, layer, slug):
    folder = os.path.join(source, layer, slug)
    return "".join(
        words(open(os.path.join(folder, name)).read())
        for name in sorted(os.listdir(folder))
        if name.endswith(".h")
    )


def hurried(page, text):
    """Yields what is wrong with the section that a reader in a hurry needs: code counts as words."""
    first = re.search(r"(?m)^## (.*)\n((?:(?!## ).*\n)*)", text)
    if not first or first[1] != "Do this":
        yield f"{page}: the first section is not 'Do this'"
    elif len(first[2].split()) > HURRIED:
        yield f"{page}: 'Do this' has {len(first[2].split())} words, more than {HURRIED}"


def copied(source, entries):
    """Yields what is wrong with the figures of causes: they are copies from pages of features."""
    pages = {f["slug"]: "".join(open(os.path.join(source, f[key])).read() for key in ("guideline", "figures") if key in f)
             for f in entries["features"]}
    for cause in entries["causes"]:
        text = open(os.path.join(source, cause["guideline"])).read()
        rows = re.findall(r"(?m)^\|.*\|$", text.partition("## What it costs")[2].partition("\n## ")[0])
        known = set(re.findall(r"[\d.]+", " ".join(pages[slug] for slug in cause["features"])))
        for figure in re.findall(r"(?<=\| )[\d.]+(?= \|)", " ".join(rows)):
            if figure not in known:
                yield f"{cause['guideline']}: {figure} is on no page of {' or '.join(cause['features'])}"


def main():
    catalogue, source, plugin, module = sys.argv[1:]
    wrong = []
    checks = set()
    with open(catalogue) as file:
        entries = json.load(file)
    for e in entries["guides"] + entries["causes"] + entries["features"]:
        with open(os.path.join(source, e["guideline"])) as page:
            text = page.read()
            if not text.startswith(f"# {e['title']}\n\n{e['sentence']}\n"):
                wrong.append(f"{e['guideline']}: does not begin with the title and the sentence")
            if e in entries["features"]:
                wrong += hurried(e["guideline"], text)
    wrong += copied(source, entries)
    for f in entries["features"]:
        checks |= set(f["checks"])
        layers = [("passes", f["passes"]), ("checkers", f["checks"]),
                  ("runtime", f.get("runtime"))]
        for layer in (name for name, has in layers if has):
            if f["sentence"] not in headers(source, layer, f["slug"]):
                wrong.append(f"{layer}/{f['slug']}: no class comment has the sentence")
        for name in f["passes"]:
            run = subprocess.run(
                ["opt", f"-load-pass-plugin={plugin}", f"-passes={name}", "-disable-output"],
                input=b"", capture_output=True,
            )
            if run.returncode:
                wrong.append(f"pass {name}: {run.stderr.decode().strip()}")
    listed = subprocess.run(
        ["clang-tidy", f"--load={module}", "--checks=-*,vfriendly-*", "--list-checks"],
        capture_output=True, text=True,
    ).stdout
    found = set(re.findall(r"vfriendly-\S+", listed))
    if found != checks:
        wrong.append(f"clang-tidy lists {sorted(found)}, the catalogue {sorted(checks)}")
    print("\n".join(wrong) or "catalogue: agrees")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
