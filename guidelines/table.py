#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the table in guidelines/README.md as the catalogue has it.

Without arguments it fails if the two differ; --write makes them agree.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "README.md")
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"


def table(features):
    rows = ["| feature | what it does | checks | passes |\n", "|---|---|---|---|\n"]
    for f in features:
        names = [" ".join(f"`{n}`" for n in f[k]) for k in ("checks", "passes")]
        page = os.path.basename(f["guideline"])
        rows.append(f"| [{f['slug']}]({page}) | {f['sentence']} | {names[0]} | {names[1]} |\n")
    return "".join(rows)


def main():
    with open(os.path.join(HERE, "catalogue.json")) as file:
        features = json.load(file)["features"]
    with open(README) as file:
        text = file.read()
    before, rest = text.split(BEGIN)
    wanted = before + BEGIN + table(features) + END + rest.split(END)[1]
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
