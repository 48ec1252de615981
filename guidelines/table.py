#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the tables in guidelines/README.md as the catalogue has them.

Without arguments it fails if the two differ; --write makes them agree.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "README.md")


def page(entry):
    return entry["guideline"].removeprefix("guidelines/")


def guides(catalogue):
    yield "| guide | what it is |"
    yield "|---|---|"
    for g in catalogue["guides"]:
        yield f"| [{g['title']}]({page(g)}) | {g['sentence']} |"


def causes(catalogue):
    features = {f["slug"]: f for f in catalogue["features"]}
    yield "| cause | what happens | what helps |"
    yield "|---|---|---|"
    for c in catalogue["causes"]:
        helps = ", ".join(f"[{features[slug]['title']}]({page(features[slug])})" for slug in c["features"])
        yield f"| [{c['title']}]({page(c)}) | {c['sentence']} | {helps} |"


def table(catalogue):
    yield "| feature | what it does | checks | passes |"
    yield "|---|---|---|---|"
    for f in catalogue["features"]:
        names = [" ".join(f"`{n}`" for n in f[k]) for k in ("checks", "passes")]
        yield f"| [{f['title']}]({page(f)}) | {f['sentence']} | {names[0]} | {names[1]} |"


def main():
    with open(os.path.join(HERE, "catalogue.json")) as file:
        catalogue = json.load(file)
    with open(README) as file:
        text = wanted = file.read()
    for rows in (guides, causes, table):
        begin, end = f"<!-- {rows.__name__}: begin -->\n", f"<!-- {rows.__name__}: end -->\n"
        before, rest = wanted.split(begin)
        wanted = before + begin + "\n".join(rows(catalogue)) + "\n" + end + rest.split(end)[1]
    if wanted == text:
        return 0
    if sys.argv[1:] == ["--write"]:
        with open(README, "w") as file:
            file.write(wanted)
        return 0
    print("guidelines/README.md is not what the catalogue says: run guidelines/table.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
