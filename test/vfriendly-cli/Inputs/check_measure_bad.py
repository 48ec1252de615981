# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_measure_bad.py FOLDER: what measure cannot see, or not for long, has one clear line, and the rest is there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

from project import BUILD, HERE, TOOL

from vfriendly.measuring import bpf, preloading, samples
from vfriendly.measuring import profile as profiles
from vfriendly.measuring.processes import Processes
from vfriendly.measuring.resolving import Resolver

FOLDER = Path(sys.argv[1])
NO_FILE = ("[anonymous]", "[unknown]")
# Each way to see events: BPF only where this user may have it.
TIERS = ((), ("--without-bpf",), ("--without-perf",))


def measure(*command, tier=(), status=0):
    file = FOLDER / "profile.json"
    done = subprocess.run([TOOL, "measure", "-q", *tier, "-o", str(file), "--", *command], cwd=FOLDER,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status and "Traceback" not in done.stderr, (tier, done)
    return profiles.read(str(file)), done


def programs(tier):
    began = time.monotonic()
    profile, done = measure("true", tier=tier)
    assert profile.wall_s < time.monotonic() - began and "overhead, measured" in done.stdout, done.stdout
    _, done = measure("false", tier=tier)
    assert "the command ended with status 1" in done.stderr, done
    # A stripped program has addresses for places, and code that is in no file is named as such.
    profile, done = measure("./stripped", "jit", tier=tier)
    there = [s.seconds for s in profile.stacks if s.what in profiles.ON_CPU and s.frames[0].module in NO_FILE]
    assert sum(there) > 0.02 and any("in code of no file" in line for line in profile.missing), profile.missing
    profile, done = measure("./odd", "threads", tier=tier)
    assert 0.3 < profile.user_s + profile.system_s < 5, profile.user_s
    # It forks, and executes something else, which ends at once.
    profile, done = measure("sh", "-c", "(exec true); exec ./odd jit", tier=tier)
    assert profile.user_s > 0.02, profile


def interrupted(tier):
    """What was measured until then is printed and written."""
    file = FOLDER / "interrupted.json"
    # A job in the background of a script ignores SIGINT, and so would the tool.
    # pylint: disable-next=subprocess-popen-preexec-fn
    child = subprocess.Popen([TOOL, "measure", "-q", *tier, "-o", str(file), "--", "sleep", "100"], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end = time.monotonic() + 30
    while time.monotonic() < end and "sleep" not in _names_below(child.pid):
        time.sleep(0.05)
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=60)
    assert child.returncode == 130 and "overhead, measured" in out and "Traceback" not in errors, (out, errors)
    assert profiles.read(str(file)).wall_s > 0


def _names_below(process):
    names = []
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        try:
            names.append(Path(f"/proc/{child}/comm").read_text().strip())
        except OSError:
            continue
    return names


def full_disk():
    done = subprocess.run([TOOL, "measure", "-q", "-o", "/dev/full", "--", "true"], cwd=FOLDER, capture_output=True,
                          text=True)
    assert done.returncode == 2 and "No space left" in done.stderr and "Traceback" not in done.stderr, done


def an_hour():
    """The samples of a long run stay within their room on the disk, and stand for as many events."""
    record = samples.record(samples.FAULT, 1, 7, 7, 0, -1, False, [0] * samples.REGISTERS, b"")
    spool, count = samples.Spool(), 20000
    with mock.patch.object(samples, "MOST_BYTES", 200 * len(record)):
        for _ in range(count):
            spool.add(record)
    assert 20 < spool.count <= 200, spool.count
    # Of some 100 samples, each kept by chance: five standard deviations.
    weights = sum(s.weight for s in spool.samples())
    assert abs(weights - count) < 0.5 * count, weights


def unavailable():
    """Each reason for which BPF or the library cannot be used is named, with what would help."""
    def why(exception, begin, **patches):
        with mock.patch.multiple(os, **patches):
            try:
                begin()
            except exception as error:
                return str(error)
        return "nothing"

    def machine(release="6.1.0", name="x86_64"):
        return lambda: os.uname_result(("Linux", "here", release, "1", name))

    def begin_bpf():
        bpf.Bpf(samples.Spool())

    def begin_library():
        preloading.Preloaded(samples.Spool(), Processes(), ["true"])

    assert "only x86-64" in why(bpf.Unavailable, begin_bpf, uname=machine(name="aarch64"))
    absent = mock.Mock(wraps=os.path)
    absent.exists = lambda path: path != "/sys/kernel/btf/vmlinux" and os.path.exists(path)
    assert "CONFIG_DEBUG_INFO_BTF" in why(bpf.Unavailable, begin_bpf, path=absent, uname=machine())
    if os.path.exists("/sys/kernel/btf/vmlinux"):
        assert "measure from the host" in why(bpf.Unavailable, begin_bpf, readlink=lambda _: "pid:[1]", uname=machine())
    assert "needs Linux 5.11" in why(preloading.Unavailable, begin_library, uname=machine(release="5.10.0-28-amd64"))

    with mock.patch("shutil.which", lambda _: None):
        missing = "; ".join(Resolver(Processes()).missing)
    assert "llvm-22" in missing and "binutils" in missing, missing

    def full(*_):
        raise OSError(28, "No space left on device")

    assert "MiB: No space left" in why(preloading.Unavailable, begin_library, posix_fallocate=full)


os.environ["VFRIENDLY_LIB"] = str(BUILD / "lib")  # as the tool's own start does
FOLDER.mkdir(parents=True, exist_ok=True)
for words in (["cc", "-g", "-O2", "-pthread", HERE / "truth" / "odd.c", "-o", "odd"],
              ["cc", "-s", "-O2", "-pthread", HERE / "truth" / "odd.c", "-o", "stripped"]):
    subprocess.run(words, cwd=FOLDER, check=True)
unavailable()
an_hour()
full_disk()
for each in TIERS:
    programs(each)
    interrupted(each)
