# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_measure_bad.py FOLDER: what measure cannot see, or not for long, has one clear line, and the rest is there."""

import errno
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

from project import BUILD, HERE, TOOL

from vfriendly.measuring import bpf, events, hints, preloading, samples
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


def sleeps(tier):
    """Time in blocks is that of looks at /proc, or unknown, but not 0."""
    profile, done = measure("sleep", "1", tier=tier)
    assert "samples of it are too little" in done.stdout and "last lines" not in done.stdout, done.stdout
    if profile.is_known("blocking", "blocked"):
        # Beside other work, looks begin late.
        assert 0.3 < profile.seconds_of("blocking")["blocked"] < 1.5 * profile.wall_s, done.stdout
    else:
        assert "perf events" in profile.tier, done.stdout


def refused():
    """Whoever may not look at any thread does not know how long they block."""
    def no(path, *_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted", str(path))

    with mock.patch.object(Path, "read_text", no):
        blocked = events.Blocked(samples.Spool())
        blocked.look([os.getpid()])
    assert "syscall: Operation not permitted" in blocked.missing, blocked.missing
    blocked.look([os.getpid()])
    assert not blocked.missing


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

    hinted()
    with mock.patch("shutil.which", lambda _: None):
        bare = Resolver(Processes())
    missing = "; ".join(bare.missing)
    assert "install llvm;" in missing and "binutils" in missing, missing
    # What only these tools show is not 0.
    assert bare.unknown(calls_known=True) == ["spinning", "allocation"], bare.unknown(True)
    assert bare.unknown(calls_known=False) == ["spinning", "allocation", "blocking", "data sharing"]
    assert not Resolver(Processes()).unknown(calls_known=False)

    def full(*_):
        raise OSError(28, "No space left on device")

    assert "MiB: No space left" in why(preloading.Unavailable, begin_library, posix_fallocate=full)


def hinted():
    """What would help is named by what the kernel says, on any kernel, for root in a container as for users."""
    users = hints.State((6, 18), False, 0, False, False, "none", 2, False)
    contained = replace(users, root=True, capabilities=0xa80425fb)  # Docker's
    privileged = replace(contained, capabilities=(1 << 41) - 1, may_set=True)
    refused = errno.EPERM
    said = hints.of_bpf(refused, users)
    assert said == "run as root, or with CAP_BPF and CAP_PERFMON", said
    said = hints.of_bpf(refused, contained)
    assert "run as root" not in said and "older" not in said and "-p PID" in said and "--cap-add BPF" in said, said
    assert "user namespace" in hints.of_bpf(refused, replace(privileged, own_users=True))
    assert hints.of_bpf(refused, replace(privileged, kernel=(5, 10))) == "needs Linux 5.15, and this is 5.10"
    assert "seccomp" in hints.of_bpf(refused, replace(privileged, filtered=True))
    assert "locked down" in hints.of_bpf(refused, replace(privileged, lockdown="confidentiality"))
    # Where nothing is known, nothing is guessed.
    assert hints.of_bpf(refused, privileged) == "the kernel refuses them: Operation not permitted"
    assert hints.of_bpf(errno.EINVAL, privileged) == "the kernel refuses them: Invalid argument"
    said = hints.of_perf(errno.EACCES, replace(users, paranoid=3))
    assert said == "kernel.perf_event_paranoid is 3: sysctl kernel.perf_event_paranoid=2 lets every user measure own programs", said
    assert hints.of_perf(errno.EACCES, replace(contained, paranoid=3)).endswith("; set it on the host")
    # With the value that suffices, it is not the value.
    assert "seccomp" in hints.of_perf(refused, replace(contained, filtered=True))
    assert hints.of_perf(refused, users) == "Operation not permitted"
    assert hints.of_perf(errno.ENOSYS, users) == "this kernel has no perf events"
    assert "paranoid=1" in hints.of_kernel_time(users) and "--cap-add PERFMON" in hints.of_kernel_time(contained)
    assert "tracefs" in hints.of_tracepoints(errno.ENOENT, privileged) and "as root" in hints.of_tracepoints(errno.EACCES, users)
    assert "tracefs" not in hints.of_tracepoints(errno.ENOENT, contained)
    # Where samples are missing, the last lines say so; a guest of QEMU without KVM got a fifth of them.
    assert not hints.of_few_samples(6.9, 3.5, 499) and not hints.of_few_samples(0.02, 0, 499)
    [said] = hints.of_few_samples(6.9, 1.3, 499)
    assert said.startswith("5.6 s of CPU time, in which no sample came: the host takes the CPU"), said
    with mock.patch.object(hints, "_text", lambda _: "250\n"):
        assert hints.of_few_samples(6.9, 1.3, 499)[0].endswith("kernel.perf_event_max_sample_rate is 250")
    assert hints.state().kernel >= (3, 0) and hints.state().paranoid is not None


os.environ["VFRIENDLY_LIB"] = str(BUILD / "lib")  # as the tool's own start does
FOLDER.mkdir(parents=True, exist_ok=True)
for words in (["cc", "-g", "-O2", "-pthread", HERE / "truth" / "odd.c", "-o", "odd"],
              ["cc", "-s", "-O2", "-pthread", HERE / "truth" / "odd.c", "-o", "stripped"]):
    subprocess.run(words, cwd=FOLDER, check=True)
unavailable()
an_hour()
full_disk()
refused()
for each in TIERS:
    programs(each)
    sleeps(each)
    interrupted(each)
