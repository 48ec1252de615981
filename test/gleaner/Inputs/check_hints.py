# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_hints.py PROGRAM: programs under `gleaner hints`; PROGRAM is hints.c's."""

import contextlib
import mmap
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
NOBODY = 65534
# For a user but root: hints.bpf.h.
PAGES_OF_USER = 256
DAEMONS = []


def start(path):
    daemon = subprocess.Popen(["gleaner", "hints", "--at", path], stdout=subprocess.PIPE, text=True)
    DAEMONS.append(daemon)
    line = daemon.stdout.readline()
    assert line == f"gleaner: hints for processes that ask at {path}\n", line
    time.sleep(1)  # until pages are ready
    return daemon


# No page, as an answer may come too late where there is much other work; or a word that was not updated for a whole slice, as there
# are machines (that of our CI) whose kernel does not announce each switch from a thread of process 1 to another thread.
SELDOM = ("vf_thread_states_are_there()", "l.runs_said_off")


def run(*modes, before=None, program=PROGRAM, tries=5, at=None):
    """What is seldom so is tried again."""
    environment = {**os.environ, "VF_HINTS": at or PATH}
    for _ in range(tries):
        done = subprocess.run([program, *modes], env=environment, preexec_fn=before, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode == 0 or not any(each in done.stderr for each in SELDOM):
            break
        time.sleep(0.5)
    assert done.returncode == 0, (modes, done)
    return done


def drop():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def one_cpu():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def no_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))


def no_memory():
    resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))


def only_reads():
    """What a process is given is for reading, whatever it does with it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asks:
        asks.settimeout(5)
        asks.connect(PATH)
        page = socket.recv_fds(asks, 1, 1)[1][0]
    size = mmap.PAGESIZE
    mmap.mmap(page, size, mmap.MAP_SHARED, mmap.PROT_READ).close()
    try:
        mmap.mmap(page, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    except PermissionError:
        os.close(page)
    else:
        raise AssertionError("the page can be written")


def as_setuid(folder):
    """Whoever starts a setuid program chooses its environment: it asks for nothing."""
    path = os.path.join(folder, "setuid")
    shutil.copy(PROGRAM, path)
    os.chmod(path, 0o4755)
    run("none", program=path, before=drop)


def of_many(folder):
    """A user has so many pages; then there are none for more of its processes, and still some for others. They are
    free again when their processes end."""
    environment = {**os.environ, "VF_HINTS": PATH}
    there = []

    def another():
        one = subprocess.Popen([PROGRAM, "wait"], env=environment, preexec_fn=drop, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        if one.stdout.readline() == b"ready\n":
            there.append(one)
            return True
        one.wait()
        return False

    end = time.monotonic() + 50
    while len(there) < PAGES_OF_USER and time.monotonic() < end:
        if not another():
            time.sleep(0.1)
    # Where the machine is slow, those that there are have to do.
    full = len(there) == PAGES_OF_USER
    if full:
        time.sleep(2)
        assert not any(another() for _ in range(3))
        run("here")
    for one in there:
        one.stdin.write(b"\n")
        one.stdin.close()
    assert all(one.wait() == 0 for one in there)
    time.sleep(2.5)
    run("here", before=drop)
    return len(there)


def ends(daemon, how, folder):
    """A program that runs when the daemon ends goes on, and the next daemon takes its place."""
    environment = {**os.environ, "VF_HINTS": PATH}
    one = subprocess.Popen([PROGRAM, "wait"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert one.stdout.readline() == b"ready\n"
    daemon.send_signal(how)
    assert daemon.wait() == (0 if how == signal.SIGTERM else -how)
    one.stdin.write(b"\n")
    one.stdin.close()
    assert one.wait() == 0
    run("none")
    return start(PATH)


def main(folder):
    daemon = start(PATH)
    second = subprocess.run(["gleaner", "hints", "--at", PATH], capture_output=True, text=True)
    assert second.returncode == 125 and "Address already in use" in second.stderr, second
    if len(os.sched_getaffinity(0)) > 1:
        print(run("seen").stderr, run("unrelated").stderr, sep="")
    for mode in ("thread", "child", "read", "lock", "again", "leaves", "filtered"):
        run(mode)
    only_reads()
    os.environ["ASKED_LATE"] = PATH
    run("late", at=os.path.join(folder, "nobody"))
    run("thread", before=drop)
    run("lock", before=one_cpu)
    run("thread", before=one_cpu)
    run("none", before=no_files)  # Its standard files, and one with which a socket cannot do.
    run("lock", before=no_memory)
    run("none", at=os.path.join(folder, "nobody"))
    as_setuid(folder)
    print(f"{of_many(folder)} pages of one user")
    # One that is stopped answers nobody: a start takes 20 ms more, until its queue is full.
    daemon.send_signal(signal.SIGSTOP)
    for _ in range(3):
        run("none")
    daemon.send_signal(signal.SIGCONT)
    run("here")
    daemon = ends(daemon, signal.SIGKILL, folder)
    run("here")
    daemon = ends(daemon, signal.SIGTERM, folder)
    run("thread")
    daemon.terminate()
    assert daemon.wait() == 0 and not os.path.exists(PATH)


# Whoever looks at a holder, and the holder, must have a CPU each, and the daemon must answer within 20 ms: beside other work they
# seldom do.
with contextlib.suppress(PermissionError):
    os.setpriority(os.PRIO_PROCESS, 0, -20)
# Not in TMPDIR, which other users cannot reach in a test.
with tempfile.TemporaryDirectory(dir="/tmp") as work:
    os.chmod(work, 0o755)
    PATH = os.path.join(work, "hints")
    try:
        main(work)
    finally:
        for one in DAEMONS:
            one.kill()
