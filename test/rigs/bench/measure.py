# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paired measurement: run commands in turn, compare them pair by pair.

Speed on a shared machine drifts by more than the differences looked for, so
the variants of a cell run A B C A B C ... and each ratio is taken within one
repetition; what is reported is the median of those ratios.

A run killed by its timeout has no time, only a lower bound: its ratios are
bounds too, and carry '>' or '<' wherever they are shown.
"""

import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Run:
    """One run of a command. cpu is user + system time with its children."""

    status: str  # "ok", "timeout" or "failed"
    wall: float
    cpu: float
    output: str
    errors: str
    values: dict = field(default_factory=dict)  # the program's own JSON line

    def record(self):
        kept = {"status": self.status, "wall_s": self.wall, "cpu_s": self.cpu}
        return {**kept, **self.values}


@dataclass
class Figure:
    """A value with what is known about it: '' it is this, '>' it is more,
    '<' it is less, '?' nothing (both sides of the ratio were bounds)."""

    value: float
    sign: str = ""

    def text(self, form="{:.2f}"):
        if self.sign == "?":
            return "?"
        return (self.sign + " " if self.sign else "") + form.format(self.value)

    def at_least(self, bound):
        """True, False, or None if the sign leaves it open."""
        met = self.value >= bound
        return met if self.sign == "" or met == (self.sign == ">") else None

    def at_most(self, bound):
        met = self.value <= bound
        return met if self.sign == "" or met == (self.sign == "<") else None


def run(command, timeout, environment=None, shell=False, folder=None, feed=os.devnull, beside=None):
    """Runs command once, in folder, with the file feed as its input; kills its process group
    after timeout seconds. beside(process id), if given, is called once it runs; what that
    returns is called when it has ended, while its id is still its own, for more values."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, open(feed) as given:
        began = time.monotonic()
        child = subprocess.Popen(
            command,
            shell=shell,
            cwd=folder,
            stdin=given,
            stdout=out,
            stderr=err,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        expired = threading.Event()

        def expire():
            expired.set()
            os.killpg(child.pid, signal.SIGKILL)

        timer = threading.Timer(timeout, expire)
        timer.start()
        try:
            ended = beside(child.pid) if beside else dict
            # Leave the child waitable until the timer is off: a process id
            # that was waited for may already be someone else's.
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            wall = time.monotonic() - began
            more = ended()
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
            timer.join()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        output, errors = out.read(), err.read()
    if expired.is_set():
        state = "timeout"
    else:
        state = "ok" if child.returncode == 0 else "failed"
        if state == "failed":
            errors += f"(exit status {child.returncode})"
    cpu = usage.ru_utime + usage.ru_stime
    switches = {"voluntary": usage.ru_nvcsw, "involuntary": usage.ru_nivcsw}
    return Run(state, wall, cpu, output, errors, {**switches, **last_json(output), **more})


def last_json(output):
    """What a program printed of itself; {} if its last line is none."""
    lines = output.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        return {}
    try:
        return json.loads(lines[-1])
    except ValueError:
        return {}


def in_turn(variants, repetitions, done=None, budget=None):
    """variants: name -> function that makes one Run. Returns name -> [Run].

    done(runs so far), if given, is called after each run. With a budget in
    seconds, no repetition but the first three begins after it is spent: there
    are then fewer than asked for, which the reader must be told."""
    runs = {name: [] for name in variants}
    began = time.monotonic()
    for repetition in range(repetitions):
        if budget and repetition >= 3 and time.monotonic() - began > budget:
            break
        for name, once in variants.items():
            runs[name].append(once())
            if done:
                done(sum(map(len, runs.values())))
    return runs


def spread(values):
    """Median, quartiles and ends of a list of numbers."""
    ordered = sorted(values)
    if len(ordered) == 1:
        low = high = ordered[0]
    else:
        low, _, high = statistics.quantiles(ordered, n=4, method="inclusive")
    return {
        "n": len(ordered),
        "median": statistics.median(ordered),
        "q1": low,
        "q3": high,
        "min": ordered[0],
        "max": ordered[-1],
    }


def median_interval(values):
    """Ends of an interval in which the median of all possible runs is with a probability of 95 %;
    None if there are too few values, fewer than six. Order statistics: independent runs lie below
    the median as coins fall, whatever their distribution is."""
    ordered, outside, cut = sorted(values), 0.0, 0
    while cut < len(ordered) // 2:
        outside += 2 * math.comb(len(ordered), cut) / 2 ** len(ordered)
        if outside > 0.05:
            break
        cut += 1
    return (ordered[cut - 1], ordered[-cut]) if cut else None


def median_figure(figures):
    """The median of Figures; bounds of one kind give a bound."""
    figures = list(figures)
    signs = {f.sign for f in figures if f.sign}
    sign = "" if not signs else signs.pop() if len(signs) == 1 else "?"
    return Figure(statistics.median(f.value for f in figures), sign)


def pair_ratios(over, under, value):
    """value(over run) / value(under run) for each repetition, as Figures."""
    flips = {"": "", ">": "<", "<": ">"}
    ratios = []
    for a, b in zip(over, under):
        top, bottom = value(a), value(b)
        signs = {top.sign, flips[bottom.sign]} - {""}
        sign = "" if not signs else signs.pop() if len(signs) == 1 else "?"
        ratios.append(Figure(top.value / bottom.value, sign))
    return ratios


def wall_of(one):
    return Figure(one.wall, ">" if one.status == "timeout" else "")


def cpu_of(one):
    return Figure(one.cpu, ">" if one.status == "timeout" else "")


class Progress:
    """One line on stderr that keeps up with long work. On a terminal it
    rewrites itself; elsewhere it prints a line every 15 seconds."""

    def __init__(self, what):
        self.what = what
        self.began = self.last = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def at(self, where):
        now = time.monotonic()
        if now - self.last < (0.2 if self.terminal else 15):
            return
        self.last = now
        line = f"{self.what}: {where}, {now - self.began:.0f} s"
        print(("\r\033[K" if self.terminal else "") + line, end="" if self.terminal else "\n",
              file=sys.stderr, flush=True)

    def end(self):
        if self.terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
