# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_model.py FOLDER: the model's formulas by examples of the papers, and a profile that was written by hand."""

import contextlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from project import TOOL

from vfriendly.errors import Refused
from vfriendly.measuring import calibrating, model
from vfriendly.measuring.calibrating import Costs
from vfriendly.measuring.profile import Profile, Stack
from vfriendly.measuring.symbols import Frame

COSTS = Costs(wake_idle=30e-6, wake_busy=10e-6, shootdown=5e-6, exit=2e-6, virtual=True, quiet=True)


def ticks():
    """Table 6.1 of the dissertation: 10 s, 250 Hz, 16 vCPUs in each of one or four virtual machines."""
    # The table has one exit a tick where the formula, and so the model, has two.
    assert [n * model.periodic_exits(10, 16, 250, exits=1) for n in (1, 4)] == [40000, 160000]
    assert [n * model.periodic_exits(10, 16, 250) for n in (1, 4)] == [80000, 320000]
    # Idle machines, then those that are half idle and have 1000 idle periods a second.
    assert model.tickless_exits(10, 16, 0.0, math.inf, 250) == 0
    assert [n * model.tickless_exits(10, 16, 0.5, 0.5 * 16 / 1000, 250) for n in (1, 4)] == [60000, 240000]


def shootdowns():
    # Of the 5 us that were measured in a virtual machine, 2 are the exit.
    assert math.isclose(model.shootdown(COSTS, 2, 1), 5e-6)
    assert math.isclose(model.shootdown(COSTS, 16, 1), 15 * 5e-6)
    assert math.isclose(model.shootdown(COSTS, 16, 2), 7 * 3e-6 + 8 * 9e-6 + 15 * 2e-6)
    assert model.shootdown(COSTS, 1, 1) == 0
    native = Costs(30e-6, 10e-6, 5e-6, None, False, True)
    assert math.isclose(model.shootdown(native, 16, 1), 15 * 5e-6)
    # In nanoseconds: 5 - 2 us of the same node, three times that of another one, and the exit.
    assert model.setting(COSTS) == "VF_MALLOC_SHOOTDOWN=3000,9000,2000", model.setting(COSTS)
    assert model.setting(native) == "VF_MALLOC_SHOOTDOWN=5000,15000,0", model.setting(native)
    slow = Costs(30e-6, 10e-6, 1e-3, 2e-6, True, False)
    assert model.setting(slow) == "VF_MALLOC_SHOOTDOWN=998000,1000000,2000", model.setting(slow)


def profile(tier="BPF", **totals):
    def stack(what, count, line):
        return Stack(what, "data sharing", "", count, 0.0, 0.0, (Frame("f", "a.c", line, "/bin/app", line),))
    rows = {name.replace("_", " "): {"count": count, "seconds": 0.0} for name, count in totals.items()}
    return Profile(["./app"], tier, [], 2, 10.0, 8.0, 2.0, 0.0, 0.0, 0.0, rows, {"beside_s": 0.1, "samples": 3.0},
                   [stack("shootdown", 1000.0, 7), stack("wake", 4000.0, 9), stack("fault", 5.0, 11)])


def table():
    out = list(model.lines(profile(wake_futex=4000, idle_wake=1000, shootdown_madvise=1000), COSTS, [2, 16], 2, 10))
    assert out[0].startswith("a model, not a measurement"), out
    assert "for libvfmalloc.so on this machine: VF_MALLOC_SHOOTDOWN=3000,9000,2000" in out, out
    # A quarter of the wake-ups is of halted CPUs: 4000 * 15 us. On 2 vCPUs of 2 nodes, each shootdown is remote.
    places = [line.split() for line in out if "a.c:" in line]
    assert places == [["0.011", "s", "0.123", "s", "0", "1,000", "f", "(a.c:7)"],
                      ["0.060", "s", "0.060", "s", "4,000", "0", "f", "(a.c:9)"]], places
    # Half idle, 1000 idle periods: 2 * (10 s * 0.5 * n * 250 + 1000 * n / 2).
    ends = {line.split()[0]: line.split()[-2:] for line in out if "periodic" in line or "tickless" in line}
    assert ends == {"periodic": ["10,000", "80,000"], "tickless,": ["7,000", "56,000"]}, ends
    assert not any("not in it" in line for line in out), out
    out = "\n".join(model.lines(profile("/proc"), Costs(3e-5, 1e-5, 5e-6, None, False, False), [4], 1, 10))
    for words in ("not in it: wake-ups, which /proc", "not in it: shootdowns", "the exit of each", "beside other load"):
        assert words in out, out
    try:
        list(model.lines(profile(), COSTS, [2], 4, 10))
        raise AssertionError("4 nodes of 2 vCPUs")
    except Refused as error:
        assert "at least 4 vCPUs" in str(error), error


def command(folder):
    """Calibrates here, once; a machine that is too busy is told so."""
    cache = folder / "cache"
    (folder / "p.json").write_text(profile(wake_futex=4000, idle_wake=1000, shootdown_madvise=1000).to_json())

    def run(*words):
        return subprocess.run([TOOL, "measure", *words], cwd=folder, check=False,
                              capture_output=True, text=True, env={**os.environ, "XDG_CACHE_HOME": str(cache)})

    for words in (("model",), ("model", "a", "b"), ("model", "p.json", "--vcpus", "0"), ("model", "p.json", "--vcpus", "4,"),
                  ("model", "p.json", "--nodes", "0"), ("model", "none.json")):
        done = run(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (words, done)
    done = run("model", "p.json")
    assert done.returncode == 0 and "64 vCPUs" in done.stdout or "two CPUs" in done.stderr or "too busy" in done.stderr, done
    # What was kept is used, and what is damaged is measured again.
    os.environ["XDG_CACHE_HOME"] = str(cache)
    calibrating.calibrate = lambda: COSTS
    for kept in (cache / "vfriendly/costs").glob("*.json"):
        kept.write_text("{}")
    assert calibrating.costs() == COSTS
    calibrating.calibrate = None
    assert calibrating.costs() == COSTS
    (kept,) = (cache / "vfriendly/costs").glob("*.json")
    assert json.loads(kept.read_text())["exit"] == 2e-6


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    ticks()
    shootdowns()
    table()
    with contextlib.chdir(folder):
        command(folder)


main()
