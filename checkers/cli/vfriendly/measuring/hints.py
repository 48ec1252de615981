# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why this process may not use BPF or perf events, and what would help: found out, not guessed.

Root in a container has few capabilities, or those of a user namespace, and a seccomp filter: "run as root" is no hint
for it.
"""

import errno
import os
import re
from dataclasses import dataclass
from pathlib import Path

_SYS_ADMIN, _PERFMON, _BPF = 21, 38, 39
_ALL_USERS = ["0", "0", "4294967295"]
OLDEST = (5, 15)  # with programs for the scheduler's typed tracepoints, and bounded loops as in collect.bpf.c
# Samples below which their number is no reason to look for one.
_ENOUGH = 30
HOST = "measure from the host, with -p PID"


@dataclass(frozen=True)
class State:
    """What the kernel says of this process."""

    kernel: tuple[int, int]
    root: bool
    capabilities: int
    own_users: bool  # in a user namespace, whose capabilities are for what belongs to it
    filtered: bool  # by seccomp
    lockdown: str
    paranoid: int | None
    may_set: bool  # may change kernel.perf_event_paranoid

    def has(self, *any_of: int) -> bool:
        return not self.own_users and any(self.capabilities >> n & 1 for n in any_of)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _field(name: str) -> str:
    found = re.search(rf"^{name}:\s*(\S+)", _text("/proc/self/status"), re.M)
    return found[1] if found else "0"


def state() -> State:
    release = re.match(r"(\d+)\.(\d+)", os.uname().release)
    locked = re.search(r"\[(\w+)\]", _text("/sys/kernel/security/lockdown"))
    paranoid = _text("/proc/sys/kernel/perf_event_paranoid").strip()
    kernel = (int(release[1]), int(release[2])) if release else (0, 0)
    return State(kernel, os.geteuid() == 0, int(_field("CapEff"), 16),
                 _text("/proc/self/uid_map").split()[:3] != _ALL_USERS, _field("Seccomp") == "2",
                 locked[1] if locked else "none", int(paranoid) if paranoid.lstrip("-").isdigit() else None,
                 os.access("/proc/sys/kernel/perf_event_paranoid", os.W_OK))


def _privilege(s: State, names: str, options: str) -> str:
    if s.own_users:
        return f"capabilities of a user namespace do not count: {HOST}"
    if s.root:
        return f"this root has no {names}, as in a container: {HOST}, or start the container with {options}"
    return f"run as root, or with {names}"


def of_bpf(code: int, s: State | None = None) -> str:
    """Returns why BPF programs cannot be loaded."""
    s = s or state()
    if s.kernel < OLDEST:
        return f"needs Linux {OLDEST[0]}.{OLDEST[1]}, and this is {s.kernel[0]}.{s.kernel[1]}"
    if code not in (errno.EPERM, errno.EACCES):
        return f"the kernel refuses them: {os.strerror(code)}"
    if not s.has(_BPF, _SYS_ADMIN) or not s.has(_PERFMON, _SYS_ADMIN):
        return _privilege(s, "CAP_BPF and CAP_PERFMON", "--cap-add BPF --cap-add PERFMON")
    if s.lockdown == "confidentiality":
        return "the kernel is locked down (confidentiality), which no privilege lifts"
    if s.filtered:
        return ("the container's seccomp filter refuses bpf(): "
                f"{HOST}, or start it with --security-opt seccomp=unconfined")
    return f"the kernel refuses them: {os.strerror(code)}"


def of_perf(code: int, s: State | None = None) -> str:
    """Returns why perf_event_open fails."""
    s = s or state()
    if code == errno.ENOSYS:
        return "this kernel has no perf events"
    if code not in (errno.EPERM, errno.EACCES):
        return os.strerror(code)
    if s.paranoid is not None and s.paranoid > 2 and not s.has(_PERFMON, _SYS_ADMIN):
        words = f"kernel.perf_event_paranoid is {s.paranoid}: sysctl kernel.perf_event_paranoid=2"
        where = "" if s.may_set or not s.root else "; set it on the host"
        return f"{words} lets every user measure own programs{where}"
    if s.filtered:
        return ("the container's seccomp filter refuses perf_event_open(): start it with --cap-add PERFMON, or with "
                "--security-opt seccomp=unconfined")
    return os.strerror(code)


def of_kernel_time(s: State | None = None) -> str:
    """Returns what would show time in the kernel to a user who sees that in programs only."""
    s = s or state()
    if s.root and not s.has(_PERFMON, _SYS_ADMIN):
        return _privilege(s, "CAP_PERFMON", "--cap-add PERFMON")
    return "sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON"


def of_tracepoints(code: int, s: State | None = None) -> str:
    """Returns what would show events of tracepoints."""
    s = s or state()
    if code in (errno.EPERM, errno.EACCES) or not s.has(_PERFMON, _SYS_ADMIN):
        return _privilege(s, "CAP_PERFMON", "--cap-add PERFMON")
    return "mount -t tracefs nodev /sys/kernel/tracing"


def of_few_samples(expected_s: float, seen_s: float, rate: float) -> list[str]:
    """Returns why the clock, which was asked for a rate, gave too few samples for a verdict, though none was lost."""
    if seen_s >= expected_s / 2 or expected_s * rate < _ENOUGH:
        return []
    most = _text("/proc/sys/kernel/perf_event_max_sample_rate").strip()
    why = f"kernel.perf_event_max_sample_rate is {most}" if most.isdigit() and int(most) < rate else \
        "the host takes the CPU and does not report it as steal, or the program runs only for moments"
    return [f"{expected_s - seen_s:.1f} s of CPU time, in which no sample came: {why}"]
