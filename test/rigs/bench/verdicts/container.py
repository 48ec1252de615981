# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A container of one CPU: a group with a limit, namespaces of processes, mounts and names, and the group's folder
where programs look for it. Confined, it has the capabilities and refuses the system calls that container engines give
and refuse by default: no BPF, no perf events.

  container.py COMMAND...    refuses bpf() and perf_event_open() to the command, as their seccomp filters do
"""

import contextlib
import ctypes
import os
import struct
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "Inputs"))
import cpu_group  # pylint: disable=wrong-import-position

CAPABILITIES = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap", "net_bind_service",
                "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap")
# Numbers of bpf() and perf_event_open().
REFUSED = {"x86_64": (321, 298)}.get(os.uname().machine, (280, 241))
ENTER = """
mkdir -p "$0/outside" && mount --bind "$2" "$0/outside" && mount --bind "$1" "$2" && shift 2 && exec "$@"
"""


@contextlib.contextmanager
def one_cpu():
    """Yields the beginnings of a command in the container, in the same one confined, and outside of it for a command
    that the container starts."""
    with cpu_group.group(1) as group, tempfile.TemporaryDirectory(prefix="vf-container-") as folder:
        mount = "/sys/fs/cgroup/cpu" if group.folder.startswith("/sys/fs/cgroup/cpu/") else "/sys/fs/cgroup"
        inside = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', os.path.join(group.folder, "cgroup.procs"),
                  "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--ipc",
                  "sh", "-c", ENTER, folder, group.folder, mount]
        allowed = ",".join(["-all", *(f"+{name}" for name in CAPABILITIES)])
        confined = [*inside, sys.executable, os.path.abspath(__file__),
                    "setpriv", f"--bounding-set={allowed}", f"--inh-caps={allowed}"]
        # A load stands for another machine. On a CPU of its own choice it would share, for all of a run or not at all,
        # that of the thread that answers it: memcached's answers differed by 1.7 times between runs of a second.
        load = f"taskset -c {min(os.sched_getaffinity(0))}"
        yield inside, confined, f"sh -c 'echo 0 > {folder}/outside/cgroup.procs; exec \"$@\"' load {load}"


def _refuse():
    """Lets the kernel answer EPERM to the refused calls of this process and all that it starts."""
    load, equal, answer = 0x20, 0x15, 0x06
    eperm, allow = 0x00050001, 0x7FFF0000
    rows = [(load, 0, 0, 0), (equal, 1, 0, REFUSED[0]), (equal, 0, 1, REFUSED[1]), (answer, 0, 0, eperm),
            (answer, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    set_seccomp, by_filter = 22, 2
    if libc.prctl(set_seccomp, by_filter, program, 0, 0):
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    _refuse()
    os.execvp(sys.argv[1], sys.argv[1:])
