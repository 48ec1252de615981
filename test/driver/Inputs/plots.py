# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""plots.py ROOT: fails if the values of a chart's row are not together in a line of the committed page that it names."""

import json
import re
import sys
from pathlib import Path

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def numbers(line: str) -> list[float]:
    return [float(n.replace(",", "")) for n in NUMBER.findall(line)]


def main() -> int:
    root, faults = Path(sys.argv[1]).resolve(), 0
    paths = sorted((root / "guidelines" / "plots").glob("*.json"))
    assert paths
    for path in paths:
        figures = json.loads(path.read_text())
        for row in figures["rows"]:
            page = (root / "guidelines" / row.get("source", figures["source"])).resolve()
            wanted = [*row["values"], *row.get("low", ()), *row.get("high", ())]
            if not any(set(wanted) <= set(numbers(line)) for line in page.read_text().splitlines() if line.startswith(("|", "-"))):
                print(f"{path.name}: no line of {page.relative_to(root)} has {', '.join(map(str, wanted))}")
                faults += 1
    return 1 if faults else 0


sys.exit(main())
