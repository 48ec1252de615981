# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_measure.py FOLDER TIER: programs that say what they do at which lines are measured; TIER is bpf or user."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from project import HERE, TOOL
from vfriendly.measuring import profile as profiles

FOLDER, TIER = Path(sys.argv[1]), sys.argv[2]
TRUTH = HERE / "truth"
N = 2000
# Counts may differ by 2 %, time by 5 % and by 10 samples; 95 % of the events must be at the right line.
COUNT, TIME, LINE = 0.02, 0.05, 0.95
# Counts of one place are of 1 in k samples. Of N faults in bursts, some 200 are sampled by BPF, and 20 by perf events.
# BPF samples at random: the standard deviation is 7 %, 1/sqrt(200), and of some ten such counts in each run
# none may differ by chance, so the bound is five of it. (20 % failed once by chance: 2,432 of 2,000.)
SAMPLED = {"bpf": 0.35, "user": 0.4}


def lines_of(name):
    text = (TRUTH / name).read_text().splitlines()
    return {m[1]: i for i, line in enumerate(text, 1) if (m := re.search(r"HERE (.+)", line))}


def measure(name, *command):
    file = FOLDER / f"{name}-{TIER}.json"
    done = subprocess.run([TOOL, "measure", "-q", "-o", str(file), *(["--without-bpf"] if TIER == "user" else []), "--",
                           *command], cwd=FOLDER, capture_output=True, text=True)
    assert done.returncode == 0, done
    said = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    return profiles.read(str(file)), said, done.stdout


def at(profile, what, file, line):
    """Returns the count and seconds of events whose first own frame is this line, or in this range."""
    found = [s for s in profile.stacks if s.what == what and s.own and Path(s.own.file).name == file
             and s.own.line in (line if isinstance(line, range) else [line])]
    return sum(s.count for s in found), sum(s.seconds for s in found)


def near(value, wanted, share, what, slack=0.0):
    assert abs(value - wanted) <= share * wanted + slack, f"{what}: {value}, not {wanted}"


def slack(profile, seconds):
    """While the host takes the CPU no sample is taken, but the program's clock goes on.

    Beside other work samples come at random: the standard deviation of their number is its root, 14 of the 200 of a
    loop. Four of it fail in one of 16,000 comparisons.
    """
    waited = 4 * math.sqrt(seconds * profile.period_s) if is_beside(profile) else 0
    return 10 * profile.period_s + (profile.steal_s or 0) + waited


def is_beside(profile):
    """Returns whether threads waited for CPUs: beside other work."""
    return (profile.run_delay_s or 0) > 10 * profile.period_s


def counts_within(profile):
    """Beside other work, looking at each switch may cost too much: then counts are estimates, and the profile says so."""
    return SAMPLED["bpf"] if any("their counts are estimates" in line for line in profile.missing) else COUNT


def spins(profile, file, line, seconds):
    # The loop is of three lines.
    near(at(profile, "spin", file, range(line - 1, line + 2))[1], seconds, TIME, f"spun at {file}:{line}",
         slack(profile, seconds))


def in_c():
    profile, said, out = measure("c", "./truth", str(N))
    lines = lines_of("truth.c")
    faults = profile.totals["fault"]["count"]
    # Each page once, and those of the start.
    assert 3 * N <= faults <= 3 * N * (1 + COUNT) + 200, faults
    for kind, file, line in (("inlined", "truth.c", lines["inlined fault"]), ("libc", "truth.c", lines["libc fault"]),
                             ("shared", "shared.c", lines_of("shared.c")["shared fault"])):
        # Samples of 1 in k: with N / k of them, their number differs by its root.
        near(at(profile, "fault", file, line)[0], N, SAMPLED[TIER], kind)
    spins(profile, "truth.c", lines["spin"], said["spun"])
    spins(profile, "shared.c", lines_of("shared.c")["shared spin"], said["shared"])
    assert at(profile, "spin", "truth.c", range(lines["work"] - 1, lines["work"] + 1)) == (0, 0), "work was taken for a wait"
    assert at(profile, "cpu", "truth.c", range(lines["work"] - 1, lines["work"] + 1))[0] > 3
    # Each sample has its CPU.
    spun, ran = (sum(row[key] for row in profile.by_cpu.values()) for key in ("spin_s", "run_s"))
    near(spun, profile.seconds_of("spinning")["cpu"], 1e-9, "spun on the CPUs")
    near(ran, profile.user_s + profile.system_s, TIME, "ran on the CPUs", slack(profile, said["spun"]))
    assert "spinning" in out.splitlines()[0] or "spinning" in out.splitlines()[1], out
    if TIER == "user":
        return
    # pthread_join sleeps once, in another line.
    near(profile.totals["block futex"]["count"], said["slept"], counts_within(profile), "slept", 2)
    # Probably interrupts in the call wake others in its name: 170 of 4,170 beside a load of 40.
    beside = 0.1 * said["woke"] if is_beside(profile) else 0
    near(profile.totals["wake futex"]["count"], said["woke"], counts_within(profile), "woke", 2 + beside)
    for what, line in (("block", "wait"), ("wake", "wake")):
        all_of = sum(s.count for s in profile.stacks if s.what == what and s.call == "futex")
        there = at(profile, what, "truth.c", lines[line])[0]
        assert there >= LINE * all_of - 2, (what, there, all_of)


def in_cpp():
    profile, said, _ = measure("cpp", "./truthpp", str(N))
    lines = lines_of("truth.cpp")
    spun = sum(s.seconds for s in profile.stacks if s.what == "spin" and any(
        f.line == lines["spin"] and f.file.endswith("truth.cpp") for f in s.frames))
    near(spun, said["spun"], TIME, "spun in C++", slack(profile, said["spun"]))
    near(at(profile, "fault", "truth.cpp", lines["algorithm fault"])[0] or
         sum(s.count for s in profile.stacks if s.what == "fault" and any(f.line == lines["algorithm fault"]
             and f.file.endswith("truth.cpp") for f in s.frames)), N, SAMPLED[TIER], "faults in std::fill_n")
    if TIER == "user":
        return
    # The own frame may be the line of the lambda's loop in <condition_variable>, inlined into take_turn.
    waits = [s for s in profile.stacks if s.what == "block" and s.call == "futex" and
             any("take_turn" in f.function for f in s.frames)]
    wakes = [s for s in profile.stacks if s.what == "wake" and s.call == "futex"]
    assert sum(s.count for s in waits) >= LINE * profile.totals["block futex"]["count"] - 2
    there = sum(s.count for s in wakes if any(f.line == lines["wake"] for f in s.frames) or
                any("take_turn" in f.function for f in s.frames))
    assert there >= LINE * sum(s.count for s in wakes) - 2


def shootdowns():
    profile, said, _ = measure("shootdowns", "./shootdowns", "300")
    if said["cpus"] == 1:
        return
    places = [("madvise", "shootdowns.c", "inlined shootdown"), ("munmap", "shared.c", "shared shootdown"),
              ("mprotect", "shootdowns.c", "libc shootdown"), ("madvise", "shootdowns.c", "second of libc")]
    for call in ("madvise", "munmap", "mprotect"):
        lines = [(file, lines_of(file)[name]) for by, file, name in places if by == call]
        # The last time may have been broken off.
        near(profile.totals[f"shootdown {call}"]["count"], said["times"] * len(lines), COUNT, call, 3)
        there = sum(at(profile, "shootdown", file, line)[0] for file, line in lines)
        assert there >= LINE * said["times"] * len(lines), (call, there)
        for file, line in lines:
            near(at(profile, "shootdown", file, line)[0], said["times"], SAMPLED[TIER], f"{call} at line {line}", 10)


def between_slices():
    """Faults and blocks are exact where switches are looked at only now and then, also the last ones before the end."""
    profile, said, _ = measure("slices", "taskset", "-c", str(max(os.sched_getaffinity(0))), "./slices", "10000")
    faults = profile.totals["fault"]["count"]
    assert 10000 <= faults <= 10000 * (1 + COUNT) + 300, faults
    # Those before main and at the end are not in the program's own number.
    blocks = sum(row["count"] for name, row in profile.totals.items() if name.startswith("block"))
    near(blocks, said["blocks"], COUNT, "blocks", 10)
    # There is a wake-up for each block, and many of these events are not looked at. How many depends on how long a
    # switch takes here beside what looking at it costs.
    assert profile.overhead["looked_at"] < 1.5 * said["blocks"], (profile.overhead, said)


def waited_for():
    """Whom the others waited for is named, with the time."""
    profile, said, out = measure("waited", "./waited")
    slow = profile.crowd.names["slow"]
    # Beside other work, a result may be ready before the wait for it, and a woken thread may wait for a CPU.
    # One more waits for its end.
    assert 0 < slow["ended"] <= 21, slow
    near(slow["ended_s"], said["waited"], TIME, "waited", profile.run_delay_s)
    assert "threads waited for others, until woken by: slow " in out, out
    assert "ended" not in profile.crowd.names.get("waited", {}), profile.crowd.names


def short_children():
    """A process whose children come and go has their CPU time: those of the beginning have ended at the end."""
    parent = subprocess.Popen(["sh", "-c", "while :; do ./truth 300; done"], cwd=FOLDER, stdout=subprocess.DEVNULL)
    try:
        file = FOLDER / f"children-{TIER}.json"
        subprocess.run([TOOL, "measure", "-q", "-o", str(file), *(["--without-bpf"] if TIER == "user" else []), "-p",
                        str(parent.pid), "--seconds", "1.5"], check=True, capture_output=True)
        profile = profiles.read(str(file))
        assert profile.user_s > 0 and profile.user_s + profile.system_s <= (os.cpu_count() + 1) * profile.wall_s, profile.user_s
    finally:
        parent.kill()
        parent.wait()


def in_calls():
    """Time in system calls that no function of libc makes, as of Go's programs, is none in page faults."""
    profile, said, _ = measure("calls", "./calls")
    line = lines_of("calls.c")["call"]
    # The kernel returns to the instruction after the call.
    near(at(profile, "kernel", "calls.c", range(line, line + 4))[1], said["called"], TIME, "time in calls",
         slack(profile, said["called"]))
    assert profile.seconds_of("page faults")["cpu"] < 0.05 * said["called"], profile.seconds_of("page faults")


def in_fortran():
    compiler = shutil.which("gfortran") or shutil.which("flang-22")
    if not compiler:
        return
    subprocess.run([compiler, "-g", "-O2", str(TRUTH / "truth.f90"), "-o", "truthf"], cwd=FOLDER, check=True)
    profile, said, _ = measure("fortran", "./truthf")
    lines = lines_of("truth.f90")
    near(at(profile, "fault", "truth.f90", lines["fortran fault"])[0], 20000, 0.05, "faults in Fortran")
    spins(profile, "truth.f90", lines["fortran spin"], said["spun"])
    if TIER == "bpf":
        near(at(profile, "block", "truth.f90", lines["fortran sleep"])[0], said["naps"], COUNT, "sleeps in Fortran")


FOLDER.mkdir(parents=True, exist_ok=True)
flags = ["-g", "-O2", "-fomit-frame-pointer", "-pthread"]
for words in (["cc", *flags, "-fPIC", "-shared", TRUTH / "shared.c", "-o", "libshared.so"],
              ["cc", *flags, TRUTH / "truth.c", "./libshared.so", "-o", "truth"],
              ["cc", *flags, TRUTH / "calls.c", "-o", "calls"],
              ["cc", *flags, TRUTH / "slices.c", "-o", "slices"],
              ["cc", *flags, TRUTH / "waited.c", "-o", "waited"],
              ["cc", *flags, TRUTH / "shootdowns.c", "./libshared.so", "-o", "shootdowns"],
              ["c++", *flags, TRUTH / "truth.cpp", "-o", "truthpp"]):
    subprocess.run(words, cwd=FOLDER, check=True)
in_c()
in_cpp()
in_calls()
short_children()
if TIER == "bpf":
    between_slices()
    waited_for()
    shootdowns()
in_fortran()
