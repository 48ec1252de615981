# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run of a command, or of a server with a load: its time, CPU time and output."""

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import psutil

from vfriendly.children import die_with_parent

# Seconds for a server to listen, and to end after SIGTERM.
START_S, STOP_S = 60, 20
# Interval at which a server is asked whether it listens: short beside the time that a load takes.
POLL_S = 0.05
# Only this much of the end of an output is searched for metrics.
MOST_OUTPUT = 4 << 20


@dataclass
class Run:
    status: str  # "ok", or what went wrong: "exit status 3", "no end within 10 s"
    wall: float
    cpu: float  # user and system time, with children
    output: str
    errors: str

    @property
    def failure(self) -> str:
        """Returns what went wrong and the last line of the errors, or ""."""
        lines = [line for line in self.errors.splitlines() if line.strip()]
        return "" if self.status == "ok" else f"{self.status}{': ' + lines[-1].strip()[:200] if lines else ''}"


def _text(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST_OUTPUT))
    return file.read().decode(errors="replace")


def _kill(group: int, number: int = signal.SIGKILL) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def _words(status: int) -> str:
    if status >= 0:
        return "ok" if status == 0 else f"exit status {status}"
    return f"killed by {signal.Signals(-status).name}"


def command(words: Sequence[str], environment: Mapping[str, str], timeout: float | None) -> Run:
    """Runs a command in a process group of its own, which is killed after the timeout."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.monotonic()
        try:
            child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=dict(environment),
                                     start_new_session=True, preexec_fn=die_with_parent())
        except OSError as error:
            return Run(f"does not start: {error.strerror}", 0, 0, "", "")
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            _kill(child.pid)

        timer = threading.Timer(timeout or threading.TIMEOUT_MAX, expire)
        timer.daemon = True
        timer.start()
        try:
            # The child stays waitable until the timer is off, so that its number is not another's.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            wall = time.monotonic() - began
        finally:
            timer.cancel()
            _kill(child.pid)  # What it left behind would run beside the next one.
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        words_of_status = f"no end within {timeout:.0f} s" if expired.is_set() else _words(child.returncode)
        return Run(words_of_status, wall, usage.ru_utime + usage.ru_stime, _text(out), _text(err))


class Server:
    """A server that runs while a load is measured."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (stop() closes it)
        self._child = psutil.Popen(list(words), stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log,
                                   env=dict(environment), start_new_session=True, preexec_fn=die_with_parent())

    def processes(self) -> list[psutil.Process]:
        try:
            return [psutil.Process(self._child.pid), *self._child.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def listens(self) -> bool:
        for process in self.processes():
            try:
                if any(c.status == psutil.CONN_LISTEN for c in process.connections("inet")) or \
                        process.connections("unix"):
                    return True
            except psutil.Error:
                continue
        return False

    def wait_until_ready(self) -> str:
        """Returns "" once the server listens, or what went wrong."""
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            status = self._child.poll()
            if status is not None:
                return f"the server ended before the load: {_words(status)}"
            if self.listens():
                return ""
            time.sleep(POLL_S)
        return f"the server does not listen after {START_S} s"

    def cpu(self) -> float:
        total = 0.0
        for process in self.processes():
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            total += times.user + times.system + times.children_user + times.children_system
        return total

    def stop(self) -> str:
        """Ends the server and returns its output."""
        _kill(self._child.pid, signal.SIGTERM)
        try:
            self._child.wait(STOP_S)
        except psutil.TimeoutExpired:
            pass
        _kill(self._child.pid)
        self._child.wait()
        text = _text(self._log)
        self._log.close()
        return text


def served(server: Sequence[str], environment: Mapping[str, str], load: str, timeout: float | None) -> Run:
    """Runs a load, a shell's line, on a server that is started for it. The CPU time is the server's."""
    try:
        running = Server(server, environment)
    except OSError as error:
        return Run(f"does not start: {error.strerror}", 0, 0, "", "")
    log, run = "", Run("not run", 0, 0, "", "")
    try:
        problem = running.wait_until_ready()
        if not problem:
            before = running.cpu()
            run = command(["sh", "-c", load], os.environ, timeout)
            run.cpu = running.cpu() - before
            if run.status != "ok":
                run.status = f"the load: {run.status}"
    finally:
        log = running.stop()
    if problem:
        return Run(problem, 0, 0, "", log)
    run.output += "\n" + log
    return run
