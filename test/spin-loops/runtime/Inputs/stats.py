# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""stats.py FOLDER: what environment.c's processes wrote there is whole, and names them."""

import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
lines = [json.loads(line) for line in (folder / "all").read_text().splitlines()]
assert len(lines) == 2 and lines[0]["pid"] != lines[1]["pid"], lines
assert all(line["program"] == "environment.c.tmp" and line["vfrt"]["waits"] == 1 for line in lines), lines
(one,) = folder.glob("of-*")
assert one.name == f"of-{json.loads(one.read_text())['pid']}", one
