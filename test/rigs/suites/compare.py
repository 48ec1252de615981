# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a suite's jobs without and with the preload and compares test by test.

A job is a command with the results of one test or many. Each runs without and with,
every second one in the other order. Tests that end differently run again, a fixed
number of times each way and one job at a time: luck shows, and is told by name.
"""

import concurrent.futures
import ctypes
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Callable, Optional

PASS, FAIL, SKIP = "pass", "fail", "skip"
CRASH, TIMEOUT, ABSENT = "crash", "timeout", "absent"
WAYS = ("without", "with")
# Started by suites to start what they test.
WRAPPERS = ("unshare", "setpriv")
# A fault that shows in every second run is then taken for luck one time in 32.
REPEATS = 5
# By so many tries must one way be worse than the other to be called worse: once may be
# the machine's load.
MARGIN = 2


@dataclass
class Outcome:
    status: str  # of the whole job
    code: int
    output: str
    seconds: float


@dataclass
class Job:
    """What is run. results(Outcome) -> {test: status}; without it the job is one
    test, named as the job is, and its exit status says how it ended."""

    name: str
    command: list
    cwd: Optional[str] = None
    timeout: float = 120
    environment: dict = field(default_factory=dict)
    skip_codes: tuple = (77,)
    results: Optional[Callable] = None
    # Called before each run: empties the folders it writes to.
    before: Optional[Callable] = None
    # narrowed(tests) -> the Job of these alone, if it can be had.
    narrowed: Optional[Callable] = None

    def judge(self, outcome):
        if self.results:
            # One that tells of no test has failed as a whole.
            return self.results(outcome) or {self.name: FAIL}
        return {self.name: SKIP if outcome.code in self.skip_codes else outcome.status}


@dataclass
class Suite:
    """What prepare() of a suite's module gives back. parallel: how many jobs at once;
    jobs that time things want to be alone. programs: those whose every start must
    have been with the preload."""

    jobs: list
    parallel: int = 1
    left_out: dict = field(default_factory=dict)  # test -> why it is not run
    programs: tuple = ()


class Preload:
    """The preloaded libraries: the tested one, and a witness that records who loaded it."""

    def __init__(self, name, library, witness):
        self.name, self.library, self.witness = name, library, witness

    def environment(self, way, notes):
        libraries = [self.witness] if way == "without" else [self.library, self.witness]
        return {"LD_PRELOAD": ":".join(libraries), "VF_TEST_WITNESS": notes}


def run(job, way, preload, folder, tick):
    """Runs a job once: its Outcome, and what was started. Its output stays in folder.
    tick(last line of the output) is called meanwhile."""
    if stopping.is_set():
        raise KeyboardInterrupt
    os.makedirs(folder, exist_ok=True)
    stem = os.path.join(folder, re.sub(r"[^\w.-]", "_", job.name)[:150] + "." + way)
    log, notes = stem + ".log", stem + ".notes"
    if job.before:
        job.before()
    open(notes, "a").close()
    os.chmod(notes, 0o666)  # Some tests give up root.
    began = time.monotonic()
    with open(log, "wb") as out:
        child = subprocess.Popen(
            job.command, cwd=job.cwd, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, **job.environment, **preload.environment(way, notes)},
        )
        live.add(child.pid)
        try:
            _wait(child, began + job.timeout, log, tick)
            status = PASS if child.returncode == 0 else FAIL if child.returncode > 0 else CRASH
        except subprocess.TimeoutExpired:
            status = TIMEOUT
        finally:
            try:  # Also what it left behind in its group.
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            live.discard(child.pid)
    output = open(log, errors="replace").read()
    return Outcome(status, child.returncode, output, time.monotonic() - began), _read(notes)


def _wait(child, until, log, tick):
    while True:
        try:
            return child.wait(min(10, max(0, until - time.monotonic())))
        except subprocess.TimeoutExpired:
            if time.monotonic() >= until:
                raise
        with open(log, "rb") as file:
            file.seek(max(0, os.path.getsize(log) - 200))
            lines = file.read().decode(errors="replace").strip().splitlines()
        tick(lines[-1][:80] if lines else "")


live = set()
stopping = threading.Event()  # Nothing new may start.


def adopt_orphans():
    """Makes daemons that a job leaves behind children of this process (PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def end_orphans():
    """Kills processes that finished jobs left behind. pre: this process has no other children."""
    children = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    for _ in range(100):  # A killed one's own children come to us next.
        with open(children) as file:
            orphans = [int(p) for p in file.read().split() if int(p) not in live]
        if not orphans:
            return
        for pid in orphans:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def _read(notes):
    """{(program, library of the function that the witness looks for): times}"""
    seen = Counter()
    for line in open(notes, errors="replace").read().splitlines():
        program, tab, library = line.partition("\t")
        if tab:
            seen[program, library] += 1
    os.remove(notes)
    return seen


class Comparison:
    """A suite's results: the status of each test in each try, without and with the library."""

    def __init__(self, suite, preload, folder, progress):
        self.suite, self.preload, self.folder = suite, preload, folder
        self.progress = progress
        self.tries = {}  # test -> {way: [status]}
        self.owner = {}  # test -> its job
        self.again = set()  # tests that were repeated
        self.unseen = set()  # tests of jobs that ran nothing with the library
        self.starts = {way: Counter() for way in WAYS}
        self.seconds = {way: 0.0 for way in WAYS}
        self.lock = threading.Lock()

    def run(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        jobs = self.suite.jobs
        with concurrent.futures.ThreadPoolExecutor(self.suite.parallel) as pool:
            running = [pool.submit(self._first, number, job) for number, job in enumerate(jobs)]
            try:
                for done, each in enumerate(concurrent.futures.as_completed(running), 1):
                    each.result()
                    self.progress.at(f"{done} of {len(jobs)} jobs")
            except BaseException:
                stopping.set()
                for each in running:
                    each.cancel()
                for pid in list(live):
                    os.killpg(pid, signal.SIGKILL)
                raise
            finally:
                concurrent.futures.wait(running)
                end_orphans()
        self._repeat()
        return {test: verdict(tries) for test, tries in self.tries.items() if test not in self.unseen}

    def _pair(self, job, turn, folder, alone):
        """{test: {way: status}} of a job run both ways."""
        found = {}
        for way in WAYS if turn % 2 == 0 else WAYS[::-1]:
            outcome, starts = run(job, way, self.preload, folder, lambda line: self.progress.at(
                f"{job.name} {way}: {line}"))
            if alone:
                end_orphans()
            found[way] = job.judge(outcome)
            with self.lock:
                self.starts[way] += starts
                self.seconds[way] += outcome.seconds
            if way == "with" and not any(
                    library.startswith(self.preload.name) and program not in WRAPPERS for program, library in starts):
                with self.lock:
                    self.unseen.update(found[way])
        tests = {*found["without"], *found["with"]}
        return {t: {way: found[way].get(t, ABSENT) for way in WAYS} for t in tests}

    def _note(self, test, ended):
        tries = self.tries.setdefault(test, {way: [] for way in WAYS})
        for way in WAYS:
            tries[way].append(ended[way])

    def _first(self, number, job):
        found = self._pair(job, number, os.path.join(self.folder, "first"),
                           self.suite.parallel == 1)
        with self.lock:
            for test, ended in found.items():
                self._note(test, ended)
                self.owner[test] = job

    def _repeat(self):
        for test, tries in self.tries.items():
            if (tries["without"][0] == PASS) != (tries["with"][0] == PASS):
                self.again.add(test)
        jobs = {}  # name -> (job, tests)
        for test in sorted(self.again):
            job = self.owner[test]
            jobs.setdefault(job.name, (job, []))[1].append(test)
        for turn in range(1, REPEATS + 1):
            for job, tests in jobs.values():
                self.progress.at(f"once more, {turn} of {REPEATS}: {job.name}")
                few = job.narrowed(tests) if job.narrowed else job
                found = self._pair(few, turn, os.path.join(self.folder, f"again-{turn}"), True)
                for test in tests:
                    self._note(test, found.get(test, {way: ABSENT for way in WAYS}))


def verdict(tries):
    """Returns both, neither, skipped, only without, only with, or flaky."""
    passed = {way: [s == PASS for s in tries[way]] for way in WAYS}
    if all(passed["without"]) and all(passed["with"]):
        return "both"
    if not any(passed["without"]) and not any(passed["with"]):
        return "skipped" if {*tries["without"], *tries["with"]} == {SKIP} else "neither"
    # A lost wake-up may be rare, but a hang or a crash is no luck.
    fatal = {CRASH, TIMEOUT}
    if fatal & set(tries["with"]) and not fatal & set(tries["without"]):
        return "only without"
    worse = sum(passed["without"]) - sum(passed["with"])
    if worse >= MARGIN:
        return "only without"
    return "only with" if worse <= -MARGIN else "flaky"
