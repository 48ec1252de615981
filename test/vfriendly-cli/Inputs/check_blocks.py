# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_blocks.py FOLDER: a program whose blocks are known, measured with and without privileges."""

import json
import subprocess
import sys

import jsonschema
from project import HERE, TOOL, Project

from vfriendly.measuring import blocks
from vfriendly.measuring.profile import read

SOURCE = HERE / "blocks.c"
SCHEMA = json.loads((HERE.parents[2] / "checkers/cli/vfriendly/measuring/profile.schema.json").read_text())
# Blocks by the word at their line.
TRUTH = {"SOON": 130_000, "ON": 20_000, "PASSED": 20_000}


def line_of(word):
    return next(i for i, line in enumerate(SOURCE.read_text().splitlines(), 1) if line.endswith(f"// {word}"))


def measured(project, *options):
    """The profile of the program. The samples of each place are some hundred, or less."""
    program, file = project.root / "blocks", project.root / "p.json"
    subprocess.run(["clang", "-O1", "-g", "-pthread", str(project.root / "src/blocks.c"), "-o", str(program)], check=True)
    done = subprocess.run([TOOL, "measure", "-q", "--blocks", *options, "-o", str(file), "--", str(program)],
                          capture_output=True, text=True, check=True)
    assert "freed by another thread" in done.stdout, done.stdout
    jsonschema.validate(json.loads(file.read_text()), SCHEMA)
    found = {p.frame.line: p for p in blocks.places(read(str(file)))}
    for word, count in TRUTH.items():
        place = found[line_of(word)]
        assert abs(place.blocks - count) < count / 2, (word, place, done.stdout)
    soon, on, passed = (found[line_of(word)] for word in TRUTH)
    assert soon.temporary > 0.9 * soon.blocks and on.kept > 0.9 * on.blocks, (soon, on)
    assert passed.passed > 0.8 * passed.blocks, passed
    assert abs(on.bytes / on.blocks - 48) < 1, on
    order = [found[line_of(word)].blocks for word in TRUTH]
    assert order[0] > 2 * max(order[1:]), order
    return file


def reported(project, file):
    """Each of the places is a finding; without the profile none is."""
    def lines(*options):
        found = project.sarif(*options, status=None)["results"]
        return {r["locations"][0]["physicalLocation"]["region"]["startLine"]: r["message"]["text"] for r in found
                if r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/blocks.c"
                and r["ruleId"] == "vfriendly-heap-churn-loop-allocation"}

    assert not set(lines()) & {line_of(word) for word in TRUTH}, lines()
    found = lines("--profile", str(file))
    assert "keep one for the next call" in found[line_of("SOON")], found
    assert "from a pool" in found[line_of("ON")], found
    assert "another thread frees" in found[line_of("PASSED")], found


if __name__ == "__main__":
    project = Project(sys.argv[1])
    (project.root / "src/blocks.c").write_text(SOURCE.read_text())
    project.entries.append(project.entry("src/blocks.c"))
    project.write()
    measured(project, "--without-perf")
    reported(project, measured(project))
