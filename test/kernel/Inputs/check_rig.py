# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rig and what it makes of guests that say what they are told to; none is booted."""

import os
import sys
from types import SimpleNamespace

root, out = sys.argv[1:]
sys.path[:0] = [os.path.join(root, "test", "rigs"), os.path.join(root, "test", "rigs", "bench"),
                os.path.join(root, "test", "rigs", "kernel", "paratick")]

import measure  # noqa: E402
import run_test  # noqa: E402
from guest import TRIES, Broken, machine, nested, packages  # noqa: E402
from kernel import rig  # noqa: E402

KERNEL = packages.Kernel("k", "image", [])


class Rig(rig.Rig):
    def __init__(self):
        self.qemu, self.busybox, self.vmm, self.files, self.out = "qemu", "busybox", "vmm", {}, out
        self.name, self.guest, self.host = "paratick", KERNEL, KERNEL
        self.progress, self.patched, self.host_nohz_full = measure.Progress("check_rig"), True, False
        self.host_cpus, self.nodes = rig.L1_CPUS, 1
        self.boots, self.broke, self.complained = [], [], []


class Report:
    def __init__(self):
        self.content = {"samples": [], "summary": []}

    def summary(self, **row):
        self.content["summary"].append(row)

    def write(self):
        pass


def lines(halts, ticks):
    """What L2 prints of one run of 2 s."""
    return ['{"mark": 1}', '{"mark": 2}', "{ exit_reason: 120 } hitcount: %d" % halts,
            '{"workload": "busy", "vcpus": 1, "ops": 5, "seconds": 2.0, "ptk": %d, "loc": 0, "idle_s": 0.5}' % ticks]


END = f"{nested.L2}: end 0"
OFF, ON = [*lines(40, 0), END], [*lines(20, 500), END]


def test(what, *guests, periodic=False):
    """guests: each one's L2, a list of lines or what it breaks with, and L1's console."""
    left, words = list(guests), []

    def boot(*_, seen, console, **__):
        said, by_host = left.pop(0)
        with open(console, "w") as file:
            file.write(by_host)
        if isinstance(said, str):
            raise Broken(said)
        for line in said:
            seen(line)
        return said

    def write(*_, words: str, **__):
        asked.append(words)

    asked = []
    machine.boot, nested.write = boot, write
    options = SimpleNamespace(chosen=["busy"], reps=1, seconds=2, hz=250, checks=False,
                              host_cpus=rig.L1_CPUS, periodic=periodic)
    report = Report()
    run_test.WORKLOADS = {"busy": run_test.Workload((1,), "")}
    print(f"{what}: {run_test.main(Rig(), options, report)}", flush=True)
    assert not left, left
    return report.content, asked


content, asked = test("well", (OFF, ""), ("a crash", ""), (ON, ""))
assert asked == ["paratick=off", "paratick=on", "paratick=on"], asked
assert content["broke"] == ["busy, 1 vCPU, on, 1 of 1: a crash"] and content["boots"] == 3, content
assert content["aims"][1]["ratio"] == 0.5 and content["failures"] == [], content

content, asked = test("periodic", (OFF, ""), (ON, ""), ([*lines(30, 0), END], ""), periodic=True)
assert asked[2].startswith("paratick=off nohz=off "), asked
assert content["summary"][0]["per"]["s"]["HLT"] == {"off": 20, "on": 10, "ratio": 0.5, "periodic": 15}, content

content, _ = test("complaints", (OFF, "[1.0] hello\nWARNING: CPU: 0 at x.c\n"),
                  (["BUG: unable to handle", *ON], ""))
assert len(content["complained"]) == 2 and content["aims"][1]["verdict"] == "met", content

content, _ = test("stuck", *[("a crash", "")] * TRIES, (ON, ""))
assert {aim["verdict"] for aim in content["aims"]} == {"not measured"}, content
test("short", (OFF, ""), *[([END], "")] * TRIES)
content, _ = test("late", (OFF, ""), ([line.replace('"seconds": 2', '"seconds": 9') for line in ON], ""))
assert content["aims"][1]["verdict"] == "not measured", content
test("no ticks", (OFF, ""), ([*lines(20, 0), END], ""))
with open(os.path.join(out, "busy-1-vCPU-on-1-of-1.L2")) as file:
    assert file.read().splitlines()[-1] == END
print("rig: ok")
