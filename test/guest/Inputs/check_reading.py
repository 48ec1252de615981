# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rig without a guest: what it writes, and how it reads."""

import os
import platform
import sys

root, out = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "test/rigs/bench"), os.path.join(root, "test/rigs/bench/blocking-sync"),
                os.path.join(root, "test/rigs/bench/blocking-sync-guest")]
sys.path += [os.path.join(root, "test", "rigs"), os.path.join(root, "guidelines")]

import exits  # noqa: E402
import figures  # noqa: E402
import workload  # noqa: E402
from guest import broken, initramfs, machine, nested  # noqa: E402

os.makedirs(out, exist_ok=True)


def members(path):
    """Names, modes and contents of a 'new ASCII' cpio archive."""
    data = open(path, "rb").read()
    at, found = 0, {}
    align = lambda n: (n + 3) // 4 * 4
    while True:
        assert data[at:at + 6] == b"070701", at
        field = lambda i: int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16)
        name = data[at + 110:at + 109 + field(11)].decode()
        begin = align(at + 110 + field(11))
        if name == "TRAILER!!!":
            return found
        found[name] = (field(1), data[begin:begin + field(6)])
        at = align(begin + field(6))


# An archive: folders before what is in them, programs with their libraries.
path = os.path.join(out, "odd name.cpio")
python = os.path.realpath(sys.executable)
initramfs.write(path, "/bin/true", {"/a/b/c": __file__, "python": python}, "echo 1\n")
inside = members(path)
names = list(inside)
assert names.index("a") < names.index("a/b") < names.index("a/b/c")
assert inside["a"][0] == 0o40755 and inside["init"][0] == 0o100755
assert inside["a/b/c"][1] == open(__file__, "rb").read()
assert inside["script"][1] == b"echo 1\n"
assert any(n.startswith("lib") and "libc.so" in n for n in names), names
assert b"guest: end" in inside["init"][1]

# Half a line is not read, and not lost.
path = os.path.join(out, "serial")
open(path, "w").write("one\r\ntw")
tail = machine.Tail(path)
assert tail.lines() == ["one"]
open(path, "a").write("o\n")
assert tail.lines() == ["two"] and tail.lines() == []


# A counter's speed is the same twice, but for less than what KVM takes for another.
if platform.machine() == "x86_64":
    one, two = machine.tsc_khz(), machine.tsc_khz.__wrapped__()
    assert abs(one - two) < 250e-6 * one and 1e5 < one < 1e7, (one, two)

# Exits: the difference between two marks.
def count(*lines):
    counter = nested.Counter()
    for line in lines:
        counter.line(line)
    return counter.results


before = ['{"mark": 1}', "{ exit_reason:        120 } hitcount:          5",
          "{ exit_reason:         96 } hitcount:          7", "{ ecx: 6e0 } hitcount:          2"]
after = ['{"mark": 2}', "{ exit_reason:        120 } hitcount:         15",
         "{ exit_reason:         96 } hitcount:          7",
         "{ exit_reason:        124 } hitcount:          4",
         "{ ecx: 6e0 } hitcount:          3", "{ ecx: 830 } hitcount:          1"]
ran = '{"ops_per_s": 10, "ops": 2, "sleeps": 1}'
(one,) = count("[ 1.0] Linux", *before, *after, ran)
assert one["exits"] == {"exit": {"HLT": 10, "MSR": 4}, "msr": {"TSC_DEADLINE": 1, "ICR": 1}}, one
result = workload.Result(one)
assert exits.per_1000([result], "HLT") == 5000
# A written MSR is one exit, not two.
assert exits.per_1000([result], exits.ALL) == 7000
counted = count(before[0], "{ counter: x } hitcount: 3", after[0], "{ counter: x } hitcount: 5", ran)
assert counted[0]["exits"] == {"exit": {}, "msr": {}, "counter": {"x": 2}}, counted
assert count('{"steps_per_ns": 2}') == [{"steps_per_ns": 2}]
assert "without a mark" in broken(lambda: count(before[1]))
assert "marks [1]" in broken(lambda: count(*before, ran))
assert "half a line" in broken(lambda: count('{"ops_per_s": 1[ 1.0] Linux'))

# The inner guest's end is not the outer one's.
assert nested.check(["inner guest: end 0"]) is None
assert "inner guest: end 1, after: bad" in broken(lambda: nested.check(["bad", "inner guest: end 1"]))
assert "reset before" in broken(lambda: nested.check(["bye"]))

# Results come in the script's order: all locks, then the next cell.
work = workload.Workload(["a", "b"], [1, 2], [0], [0], [0], ms=1)
order = dict(work.sort({"n": n} for n in range(work.runs())))
assert order[(1, 0, 0, 0), "b"].values["n"] == 1
assert order[(2, 0, 0, 0), "a"].values["n"] == 2

# The page's tables: 2 sleeps in 1000 operations are 2, whatever the others do.
def fake(part, cpus, lock, ops):
    run = {"ops_per_s": ops, "ops": ops, "cpu_ns_per_op": 1, "jain": 1, "sleeps": ops / 500,
           "exits": {"exit": {"HLT": 3, "MSR": 2}, "msr": {"ICR": 2}}}
    return {"part": part, "cpus": cpus, "threads": 2, "section_ns": 0, "think_ns": 0, "hogs": 0,
            "variant": lock, "runs": [run] * 2}


report = {
    "parameters": {"only": None, "reps": 2, "ms": 1, "nested_reps": 2, "nested_ms": 1},
    "machine": {"cpus": 2, "model": "M"}, "commit": "c", "kernel": "k", "broke": ["once"],
    "samples": [fake(part, cpus, lock, ops) for part, cpus in (("emulated", 4), ("nested", 2), ("nested", 4))
                for lock, ops in (("vf-mutex", 2000), ("pthread", 1000))],
}
page = "\n".join(figures.blocking_sync_guest(report))
assert "Emulated guest with 4 vCPUs" in page and "with 2 or 4 vCPUs, nested in such a guest" in page, page
assert "| vf-mutex | 2.000 | 2.00 | 1.000 | 1.00 | 1.00 | 1.00 |" in page, page
assert "| pthread | 2.00 | 3.00 | 0.00 | 2.00 | 0.00 | 5.00 |" in page, page
assert "2 cells of 2 threads" in page, page
assert "were restarted: 1." in page, page
print("reading: ok")
