# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_preloading.py FOLDER: programs are sampled by a library in them, which nothing in them notices."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from project import HERE, TOOL

from vfriendly.measuring import preloading
from vfriendly.measuring import profile as profiles

FOLDER = Path(sys.argv[1])
TRUTH = HERE / "truth"
# Time may differ by 5 % and by so many samples: a timer may end in the call that reads the clock, and what one sample
# stands for may have begun in other code, at both ends of a loop.
TIME, SLACK, ENDS = 0.05, 4, 2


def measure(name, *command, environment=None, options=()):
    file = FOLDER / f"{name}.json"
    done = subprocess.run([TOOL, "measure", "-q", "--without-perf", "-o", str(file), *options, "--", *command], cwd=FOLDER,
                          capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "ended with status" not in done.stderr, done
    return profiles.read(str(file)), done.stdout


def slack(profile):
    return SLACK * preloading.PERIOD_S + ENDS * profile.overhead["longest_s"]


def truth():
    """Time at the lines of a loop, and what the kernel counts for every user."""
    profile, out = measure("truth", "./truth", "2000")
    said = json.loads(out.splitlines()[0])
    line = next(i for i, text in enumerate((TRUTH / "truth.c").read_text().splitlines(), 1) if "HERE spin" in text)
    spun = sum(s.seconds for s in profile.stacks if s.what == "spin" and s.own and line - 1 <= s.own.line <= line + 1)
    assert abs(spun - said["spun"]) <= TIME * said["spun"] + slack(profile), (spun, said)
    # pthread_join sleeps once; the start of the program reads files. A wait whose wake-up comes before its thread has
    # left the CPU says that it has slept.
    assert abs(profile.totals["block"]["count"] - said["slept"]) <= 0.02 * said["slept"] + 20, (profile.totals, said)
    assert 6000 <= profile.totals["fault"]["count"] <= 6300 + 600, profile.totals
    assert profile.tier == "a preloaded library and /proc", profile.tier


def guest():
    """A program that looks for what a library in it could disturb."""
    profile, out = measure("guest", "./guest")
    assert "{}\n" in out, out
    assert sum(s.seconds for s in profile.stacks if any("calls" in f.function for f in s.frames)) > 0.1


def children():
    """A child that is forked is sampled by itself, and so is a program that it executes."""
    profile, out = measure("children", "sh", "-c", "./truth 20 & ./truth 20; wait")
    said = sum(json.loads(line)["spun"] + json.loads(line)["shared"] for line in out.splitlines() if line.startswith("{"))
    spun = sum(s.seconds for s in profile.stacks if s.what == "spin")
    assert said >= 1.0 and abs(spun - said) <= TIME * said + 2 * slack(profile), (spun, said)


def no_traces():
    """The file of the samples is open in no program, and gone at the end."""
    profile, _ = measure("files", sys.executable, "-c", """if True:
        import os, sys
        assert os.environ["VF_SAMPLE"] in open("/proc/self/maps").read()
        files = [os.path.realpath(f"/proc/self/fd/{f}") for f in range(64)]
        assert os.environ["VF_SAMPLE"] not in files, files""")
    assert profile.tier == "a preloaded library and /proc", profile.missing
    left = [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("vfriendly-sample-")]
    assert not left, left


def sites():
    """What a preloaded library counts at a lock stands at its line, beside what the kernel shows there."""
    profile, out = measure("locks", "./locks", options=["--remedies", "pthread", "--sites"])
    line = next(i for i, text in enumerate((TRUTH / "locks.c").read_text().splitlines(), 1) if "HERE lock" in text)
    (one,) = [s for s in profile.stacks if s.what == "site"]
    assert one.own.function == "take" and one.own.line == line, one
    said = json.loads(out.splitlines()[0])
    assert one.count == said["waits"], (one, said)
    # The program's clock is read just before and after. Its numbers have six digits.
    assert said["least"] <= one.seconds <= said["waited"] + 1e-6, (one, said)
    assert "waits in the runtime" in out, out
    profile, out = measure("alone", "./locks", options=["--sites"])
    assert not [s for s in profile.stacks if s.what == "site"] and "waits in the runtime" not in out


def refused():
    """Where the library cannot be used, the profile says why, and has what /proc shows."""
    subprocess.run(["cc", "-static", "-x", "c", "-", "-o", "static"], text=True, cwd=FOLDER, check=True,
                   input="#include <unistd.h>\nint main(void) { return usleep(300000); }")
    for name, command, environment, why in (
            ("static", "./static", None, "is linked statically"),
            ("absent", "./truth", {**os.environ, "VFRIENDLY_LIB": str(FOLDER)}, "was not found")):
        profile, _ = measure(name, command, environment=environment)
        assert profile.tier == "/proc" and any(why in line for line in profile.missing), profile.missing
        # Its code is in files, which are known without perf events, too.
        assert not any("code of no file" in line for line in profile.missing), profile.missing
    assert any(f.module == str(FOLDER.resolve() / "static") for s in profiles.read(str(FOLDER / "static.json")).stacks
               for f in s.frames), profile.stacks


FOLDER.mkdir(parents=True, exist_ok=True)
os.environ["TMPDIR"] = str(FOLDER.resolve())  # Others may measure at the same time.
flags = ["-g", "-O2", "-fomit-frame-pointer", "-pthread"]
for words in (["cc", *flags, "-fPIC", "-shared", TRUTH / "shared.c", "-o", "libshared.so"],
              ["cc", *flags, TRUTH / "truth.c", "./libshared.so", "-o", "truth"],
              ["cc", *flags, TRUTH / "guest.c", "-o", "guest"], ["cc", *flags, TRUTH / "locks.c", "-o", "locks"]):
    subprocess.run(words, cwd=FOLDER, check=True)
truth()
guest()
children()
no_traces()
sites()
refused()
