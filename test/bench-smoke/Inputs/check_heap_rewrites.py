# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The heap-rewrites table: sites are those that were told of, and results that differ are no result."""

import os
import sys
import tempfile

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "test/rigs/bench"), os.path.join(root, "test/rigs/bench/heap-rewrites"), os.path.join(root, "guidelines")]

import bench  # noqa: E402
import figures  # noqa: E402
import programs  # noqa: E402
import rows  # noqa: E402
import run_bench  # noqa: E402

# A place that was inlined twice is one; a warning is none.
said = """\
a.c:1:2: the block is allocated once [guidelines/heap-churn.md]
a.c:1:2: the block is allocated once [guidelines/heap-churn.md]
a.c:5:2: each iteration allocates memory; kept: its address is stored [guidelines/heap-churn.md]
a.c:6:2: each iteration allocates memory and frees it; kept: its address is stored [guidelines/heap-churn.md]
a.c:7:2: warning: unused variable [-Wunused]
"""
done, left = programs.sites(said)
assert done == {"the block is allocated once": 1} and left == {"its address is stored": 2}, (done, left)
assert run_bench.sites_text(done, left) == "1: the block is allocated once"
none = type(left)()
assert run_bench.sites_text(none, left) == "0 sites; left: 2 as its address is stored"
assert run_bench.sites_text(none, none).startswith("0 sites; no ")


def program(folder, name, text):
    """A program in the place of a built one, in a folder of its own."""
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return rows.Ready([path], folder)


def refuses(ready, timeout=10):
    try:
        run_bench.hold_together(programs.Program("p", [], "", ""), ready, timeout)
    except bench.Broken as error:
        return str(error)
    return ""


with tempfile.TemporaryDirectory() as folder:
    one, same, other = (program(folder, *each) for each in (("one", "echo 1"), ("same", "echo 1"), ("other", "echo 2")))
    assert not refuses({"before": one, "after": same})
    assert "another result" in refuses({"before": one, "after": other})
    assert "exit status 3" in refuses({"before": one, "after": program(folder, "fails", "exit 3")})
    assert "no result" in refuses({"before": one, "after": program(folder, "hangs", "exec sleep 60")}, 0.2)

# The page's table is not of a part.
row = {"shootdowns": 10.0, "mean_resident": 1e6, "peak_resident": 2e6, "wall_s": 1.0, "cpu_s": 1.0, "timeouts": 0,
       "allocations": 100, "calls": 5, "more": False}
report = {"name": "heap-rewrites", "machine": {"cpus": 2, "model": "x"}, "commit": "0" * 40,
          "parameters": {"reps": 1, "left_out": [], "absent": {}},
          "summary": [{"program": "p", "variant": "before", **row},
                      {"program": "p", "variant": "after", **row, "allocations": 1, "shootdowns": 0.0, "sites": "1: once"}]}
text = "\n".join(figures.heap_rewrites(report))
assert "| p | 100 → 1 | 10 → 0 | 5 → 5 |" in text and "| 1: once |" in text, text
for what in ({"left_out": ["q"]}, {"absent": {"q": "sources"}}):
    report["parameters"] = {"reps": 1, "left_out": [], "absent": {}, **what}
    try:
        list(figures.heap_rewrites(report))
    except SystemExit:
        continue
    raise AssertionError(what)

print("heap-rewrites: ok")
