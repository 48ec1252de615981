# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs commands under the daemon and kills its parts: check_run.py [--affinity] CASE...

VF_TEST_GLEANER_FOLD=1 makes the daemon confine the workload to one CPU at once, so that
a case need not wait for a trial that is won.
"""

import atexit
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

ALL = sorted(os.sched_getaffinity(0))
PATIENCE_S = 20  # on a busy machine; nothing is measured
OPTIONS = []
FREEZER = "/sys/fs/cgroup/freezer"  # version 1, which freezes single threads


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    sys.exit(f"never: {what}")


def children(pid):
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return found


def name(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return ""


def catches(pid, number):
    with open(f"/proc/{pid}/status") as file:
        mask = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt:"))
    return mask >> (number - 1) & 1


def cpus(pid):
    try:
        return sorted(os.sched_getaffinity(pid))
    except OSError:
        return []


def descendants(pid):
    return [each for child in children(pid) for each in (child, *descendants(child))]


def end_all(runs):
    """However the test ends, nothing that it started goes on."""
    for run in runs:
        for pid in (*descendants(run.supervisor), run.command, *descendants(run.command), run.daemon, run.supervisor):
            try:
                if pid:
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
    subprocess.run(["gleaner", "repair"], capture_output=True, check=False)


RUNS = []
atexit.register(end_all, RUNS)


class Run:
    """A run of `sleep`, or of another command, that is confined to one CPU."""

    def __init__(self, command=("sleep", "1000"), fold=True, wanted=None):
        environment = {**os.environ, **({"VF_TEST_GLEANER_FOLD": "1"} if fold else {})}
        self.process = subprocess.Popen(["gleaner", "run", *OPTIONS, "--", *command], env=environment,
                                        stderr=subprocess.PIPE, text=True)
        self.supervisor, self.daemon, self.command = self.process.pid, 0, 0
        RUNS.append(self)
        self.daemon = wait_for("a daemon", lambda: self.child(lambda n: n == "gleaner-daemon"))
        self.command = wait_for("the command", lambda: self.child(lambda n: n == (wanted or command[0])))
        if fold:
            wait_for("confined", lambda: cpus(self.command) == ALL[:1])

    def child(self, wanted):
        return next((pid for pid in children(self.supervisor) if wanted(name(pid))), 0)

    def group(self):
        try:
            with open(f"/proc/{self.command}/cgroup") as file:
                return file.read()
        except OSError:
            return ""

    def end(self):
        if self.command and os.path.exists(f"/proc/{self.command}"):
            os.kill(self.command, signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        text = self.process.stderr.read()
        return text

    def freed(self, who):
        begin = time.monotonic()
        wait_for(f"{who}: all CPUs back", lambda: cpus(self.command) == ALL)
        print(f"{who}: all CPUs back after {1000 * (time.monotonic() - begin):.0f} ms", file=sys.stderr)


def no_leftovers():
    for run in RUNS:
        for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/unified"):
            left = f"{folder}/gleaner-{run.supervisor}"
            if not os.path.exists(f"/proc/{run.supervisor}") and os.path.exists(left):
                sys.exit(f"left behind: {left}")


def ends():
    run = Run()
    os.kill(run.command, signal.SIGTERM)
    assert run.process.wait(PATIENCE_S) == -signal.SIGTERM
    no_leftovers()


def daemon_killed():
    run = Run()
    os.kill(run.daemon, signal.SIGKILL)
    run.freed("daemon killed")
    assert run.process.poll() is None
    text = run.end()
    assert "sleep has all its CPUs and goes on without it" in text, text
    no_leftovers()


def daemon_dies_slowly():
    """Its threads of the lowest priority get no CPU on a busy machine, so its process stays for seconds. A frozen
    thread stays for ever."""
    if not os.path.exists(f"{FREEZER}/tasks"):
        return
    for killed in (True, False):
        run = Run()
        group = f"{FREEZER}/gleaner-test-{run.supervisor}"
        os.mkdir(group)
        try:
            others = [thread for thread in os.listdir(f"/proc/{run.daemon}/task") if int(thread) != run.daemon]
            assert others
            write(f"{group}/tasks", others[0])
            write(f"{group}/freezer.state", "FROZEN")
            if killed:
                os.kill(run.daemon, signal.SIGKILL)
                run.freed("daemon dies slowly")
            os.kill(run.command, signal.SIGKILL)
            run.process.wait(PATIENCE_S)
            assert os.path.exists(f"/proc/{run.daemon}")
        finally:
            write(f"{group}/freezer.state", "THAWED")
            wait_for("no threads", lambda: not os.path.exists(f"/proc/{run.daemon}"))
            os.rmdir(group)
        assert "did not answer" not in run.end()
    no_leftovers()


def daemon_stopped():
    run = Run()
    os.kill(run.daemon, signal.SIGSTOP)
    run.freed("daemon stopped")
    text = run.end()
    assert "the daemon did not answer" in text, text
    no_leftovers()


def descheduled():
    """Neither ran for a while, as in a guest that was suspended: no reason to give the daemon up."""
    run = Run()
    for pid in (run.supervisor, run.daemon):
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(run.supervisor, signal.SIGCONT)
    time.sleep(0.2)  # it runs first
    os.kill(run.daemon, signal.SIGCONT)
    time.sleep(1)
    assert os.path.exists(f"/proc/{run.daemon}") and cpus(run.command) == ALL[:1]
    text = run.end()
    assert "did not answer" not in text, text
    no_leftovers()


def supervisor_killed():
    run = Run()
    os.kill(run.supervisor, signal.SIGKILL)
    run.freed("supervisor killed")
    wait_for("the daemon ends", lambda: not os.path.exists(f"/proc/{run.daemon}"))
    run.end()
    repair()


def both_killed():
    run = Run(("sh", "-c", "sleep 1000; exit"), wanted="sh")
    os.kill(run.supervisor, signal.SIGSTOP)  # it cannot help while the daemon dies
    os.kill(run.daemon, signal.SIGKILL)
    os.kill(run.supervisor, signal.SIGKILL)
    run.process.wait()
    assert cpus(run.command) == ALL[:1]
    sleeper = wait_for("sleep", lambda: children(run.command))[0]
    text = repair()
    assert f"sh, run {run.supervisor}: gave back CPUs" in text, text
    assert cpus(run.command) == ALL and cpus(sleeper) == ALL
    os.kill(sleeper, signal.SIGKILL)
    run.end()
    no_leftovers()
    assert f"run {run.supervisor}" not in repair()


def repair():
    return subprocess.run(["gleaner", "repair"], capture_output=True, text=True, check=True).stdout


def own_affinity():
    """A program that pins itself is never confined, also while others of it could be."""
    pin = f"import os, time; os.sched_setaffinity(0, {{{ALL[-1]}}}); time.sleep(1000)"
    run = Run((sys.executable, "-c", pin), fold=False, wanted=os.path.basename(sys.executable)[:15])
    wait_for("pinned", lambda: cpus(run.command) == ALL[-1:])
    time.sleep(0.3)
    assert cpus(run.command) == ALL[-1:]
    run.end()


def own_affinity_stays():
    """What a program sets itself while it is confined by affinities stays at the end."""
    pin = ("import os, time, signal\n"
           "signal.signal(signal.SIGUSR1, lambda *a: os.sched_setaffinity(0, {%d}))\n"
           "while True: time.sleep(1000)" % ALL[-1])
    run = Run((sys.executable, "-c", pin), wanted=os.path.basename(sys.executable)[:15])
    wait_for("its handler", lambda: catches(run.command, signal.SIGUSR1))
    os.kill(run.command, signal.SIGUSR1)
    wait_for("pinned itself", lambda: cpus(run.command) == ALL[-1:])
    os.kill(run.daemon, signal.SIGKILL)
    time.sleep(0.5)
    assert cpus(run.command) == ALL[-1:]
    run.end()


def fork_storm():
    """Processes that are made while CPUs are taken and given back all have them at the end."""
    storm = "while :; do (sleep 0.01 & sleep 0.01 & sleep 0.01; wait) & wait; done"
    run = Run(("sh", "-c", storm), wanted="sh")
    for _ in range(3):
        below = wait_for("children", lambda: children(run.command))
        assert all(cpus(pid) in (ALL[:1], []) for pid in below), [cpus(pid) for pid in below]
    os.kill(run.daemon, signal.SIGKILL)
    run.freed("storm")
    wait_for("all free", lambda: (lambda below: below and all(cpus(pid) in (ALL, []) for pid in below))
             (children(run.command)))
    os.kill(run.command, signal.SIGKILL)
    run.end()
    no_leftovers()


def spreads():
    """Threads that are held on the CPUs that they had before a fold are free again, and so are those they made."""
    os.environ.update(VF_TEST_GLEANER_TURNS="1", VF_TEST_GLEANER_SPREAD_MS="1000")
    storm = "busy() { while :; do (:); done; }; busy & busy & wait"
    run = Run(("sh", "-c", storm), wanted="sh")
    held = lambda: [pid for pid in descendants(run.command) if cpus(pid) == ALL[1:2]]
    free = lambda: (lambda below: len(below) >= 2 and all(cpus(pid) in (ALL, []) for pid in below))(
        descendants(run.command))
    wait_for("held", held)
    wait_for("free, as the daemon says", free)
    wait_for("held again", held)
    os.kill(run.daemon, signal.SIGKILL)
    wait_for("free, as the supervisor says", free)
    for pid in (run.command, *children(run.command)):
        os.kill(pid, signal.SIGKILL)
    run.end()
    no_leftovers()
    del os.environ["VF_TEST_GLEANER_TURNS"], os.environ["VF_TEST_GLEANER_SPREAD_MS"]


def pinned_stays():
    """A thread to which the program gives one CPU while it is confined keeps it when the fold ends."""
    os.environ.update(VF_TEST_GLEANER_TURNS="1")
    # Threads that are held after a fold have another CPU than the one that was kept.
    pin = ("import os, subprocess, time\n"
           "[subprocess.Popen(['sh', '-c', 'while :; do (:); done']) for _ in range(2)]\n"
           "while os.sched_getaffinity(0) != {%d}: time.sleep(0.001)\n"
           "os.sched_setaffinity(0, {%d})\n"
           "open('/proc/self/comm', 'w').write('pinned')\n"
           "time.sleep(1000)" % (ALL[0], ALL[0]))
    run = Run((sys.executable, "-c", pin), wanted=os.path.basename(sys.executable)[:15])
    below = lambda: children(run.command)
    wait_for("pinned", lambda: name(run.command) == "pinned")
    wait_for("all CPUs", lambda: below() and all(cpus(pid) == ALL for pid in below()))
    time.sleep(0.2)  # in which threads would be held, and free again
    assert cpus(run.command) == ALL[:1], cpus(run.command)
    for pid in (*below(), run.command):
        os.kill(pid, signal.SIGKILL)
    run.end()
    no_leftovers()
    del os.environ["VF_TEST_GLEANER_TURNS"]


def group_removed():
    """Somebody moves the workload away and removes the cgroup."""
    run = Run()
    group = next((path for base in ("/sys/fs/cgroup/cpuset", "/sys/fs/cgroup")
                  if os.path.isdir(path := f"{base}/gleaner-{run.supervisor}")), None)
    if not group:
        run.end()
        return
    write(f"{os.path.dirname(group)}/cgroup.procs", str(run.command))
    os.rmdir(group)
    run.freed("cgroup removed")
    run.end()
    assert run.process.returncode == -signal.SIGKILL


def halt_poll():
    """The guest's polling is restored, whoever is left, unless somebody else has changed it."""
    with tempfile.NamedTemporaryFile("w+") as file:
        def is_set(ns):
            with open(file.name) as now:
                return now.read().split()[0] == str(ns)

        def started():
            file.seek(0)
            file.write("50000\n")
            file.flush()
            run = Run(fold=False)
            wait_for("polls", lambda: is_set(200000))
            return run

        os.environ["VF_TEST_GLEANER_HALT_POLL"] = file.name
        OPTIONS.append("--halt-poll=200000")
        run = started()
        other = Run(fold=False)
        assert "another run has set it" in other.end()
        assert is_set(200000)
        run.end()
        assert is_set(50000), "after the end"
        run = started()
        os.kill(run.supervisor, signal.SIGKILL)
        wait_for("restored by the daemon", lambda: is_set(50000))
        run.end()
        run = started()
        os.kill(run.supervisor, signal.SIGSTOP)
        os.kill(run.daemon, signal.SIGKILL)
        os.kill(run.supervisor, signal.SIGKILL)
        run.process.wait()
        assert is_set(200000)
        repair()
        assert is_set(50000), "after the repair"
        run.end()
        run = started()
        with open(file.name, "w") as own:
            own.write("70000\n")
        run.end()
        assert is_set(70000), "the user's"
        del os.environ["VF_TEST_GLEANER_HALT_POLL"]
        OPTIONS.pop()


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--affinity":
        OPTIONS.append("--affinity")
        arguments = arguments[1:]
    for case in arguments:
        globals()[case]()
        print(f"{case}: ok", flush=True)


main()
