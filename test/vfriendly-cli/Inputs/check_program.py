# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_program.py FOLDER: findings that need two units of a program, and those that must not be found."""

import json
import re
import shutil
import sys
import time

from project import HERE, Project

HEAP = ("store.c", "loops.c", "parse.c", "team.c")
NUMA = ("grid.c", "threads.c", "main.c")


def wanted(project, names):
    """The findings that comments in the sources ask for."""
    return {(name, number, check)
            for name in names
            for number, line in enumerate((project.root / name).read_text().splitlines(), 1)
            for check in re.findall(r"// want: (\S+)", line)}


# Also what runs by default with a profile only.
MORE = "--checks=vfriendly-*,-vfriendly-heap-churn-growth"


def found(project, *words):
    rows = set()
    for row in project.sarif(MORE, *words)["results"]:
        place = row["locations"][0]["physicalLocation"]
        rows.add((place["artifactLocation"]["uri"], place["region"]["startLine"],
                  re.sub("vfriendly-(heap-churn|numa-placement|blocking-sync)-", "", row["ruleId"])))
    return rows


def only(project, names):
    project.entries = [project.entry(name, "-fopenmp") for name in names]
    project.write()


def main():
    project = Project(sys.argv[1])
    shutil.copytree(HERE / "program", project.root, dirs_exist_ok=True)
    only(project, HEAP + NUMA)
    assert (here := found(project)) == (want := wanted(project, HEAP + NUMA)), here ^ want
    time.sleep(0.1)
    found(project)
    # Also from the cache: the units that others concern are there twice.
    assert found(project) == want
    assert "7 from the cache" in project.run("scan", MORE).splitlines()[-1]

    # A note says where the other unit does it, and none shows how the tool knows.
    text = json.dumps(project.sarif(MORE)["results"])
    assert text.count("called in a loop here") == 4 and "vfriendly-if" not in text
    assert "fills 'cells' before several use it" in text  # and not the names
    assert "threads use 'cells' here" in text and "threads use 'table' here" in text

    # Each unit alone tells nothing of these but by names: allocators, and functions that parse and that nobody in sight
    # calls. The rest of the program may be in the cache.
    by_name = {"loops.c": r"slot_malloc\(100\)", "parse.c": "int parse_(line|title)"}
    for name in HEAP + NUMA:
        only(project, [name])
        alone = found(project, "--no-cache")
        lines = enumerate((project.root / name).read_text().splitlines(), 1)
        named = {n + ("int parse" in line) for n, line in lines if re.search(by_name.get(name, "^$ "), line)}
        assert alone == {(name, n, "loop-allocation") for n in named}, (name, alone)
    only(project, HEAP + NUMA)
    assert found(project, "parse.c") == {row for row in want if row[0] == "parse.c"}

    # What the other unit says no longer holds.
    project.edit("loops.c", "sum += parse_line(lines[i])", "sum += lines[i][0]")
    project.edit("loops.c", "sum += parse_record(lines[i]) + parse_document(lines[i])", "sum += lines[i][0]")
    project.edit("loops.c", "while (v[0] < n)", "if (v[0] < n)")
    project.edit("threads.c", "all += table[i]", "all += i")
    project.edit("store.c", "free(e)", "keep(e)")
    project.edit("store.c", "free(t->all)", "t->all = NULL")
    time.sleep(0.1)
    left = {("grid.c", row[1], "serial-init") for row in want if row[0] == "grid.c" and row[1] < 20}
    left.add(("parse.c", 11, "loop-allocation"))  # Nobody in sight calls it, and its name says that others may.
    assert found(project) == left, found(project) ^ left


main()
