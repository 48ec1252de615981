# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_lives.py FOLDER: what one function takes and another ends, and functions that are called again and again."""

import re
import shutil
import sys

from project import HERE, Project

NAMES = ("queue.c", "consumer.c", "shapes.cpp")


def main():
    project = Project(sys.argv[1])
    shutil.copytree(HERE / "lives", project.root, dirs_exist_ok=True)
    project.entries = [project.entry(name) for name in NAMES]
    project.write()
    wanted = {(name, number) for name in NAMES
              for number, line in enumerate((project.root / name).read_text().splitlines(), 1)
              if re.search("// want: loop-allocation", line)}
    results = project.sarif("--checks=vfriendly-heap-churn-*")["results"]
    places = [row["locations"][0]["physicalLocation"] for row in results]
    found = {(place["artifactLocation"]["uri"], place["region"]["startLine"]) for place in places}
    assert found == wanted, found ^ wanted
    texts = str(results)
    assert "'message' is allocated in each call of 'post', and another function releases it soon" in texts
    assert "released here" in texts and "passed on here, to be called again and again" in texts
    assert "vfriendly-if" not in texts


main()
