# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Verdicts in a container of one CPU: ./dev bench verdicts [--programs P,...] [--reps N] [--no-try] [--cpu-time] [--add]

What `vfriendly measure` says first of a program, with all privileges and with those that containers have by default,
and what the remedy that it names gains, beside the best one of all that `vfriendly try` runs. With --cpu-time the CPU
time counts, which differs little beside other work; it is the least time that a program takes on its one CPU. For
programs that end by themselves, and the remedies of CPU_TIME.
"""

import json
import os
import re
import resource
import shlex
import signal
import socket
import subprocess
import tempfile
import time

import bench
import cells
import container
import measure
import programs

SENTENCE = "In a container of one CPU: the remedy of the first verdict beside the best of all that try runs."
ALONE = False  # It installs the programs.

HERE = os.path.dirname(os.path.abspath(__file__))
MEASURE_S, TIMEOUT_S = 3, 280
BIN = "/usr/lib/postgresql/15/bin"
WITHIN = 1.10  # of the best remedy
AS_IT_IS = "as it is"
CPU_TIME = ("threads", "cpus", "spin", "malloc", "pthread", "pthread+malloc", "pin")


def options(parser):
    parser.add_argument("--programs", metavar="P,...", help=f"first words of {'; '.join(programs.PROGRAMS)} [all]")
    parser.add_argument("--reps", type=int, default=6, metavar="N", help="runs with each remedy, of memcached twice as many [%(default)s]")
    parser.add_argument("--no-try", action="store_true", help="only the verdicts")
    parser.add_argument("--cpu-time", action="store_true", help="instead of the time that passes, beside other work")
    parser.add_argument("--add", action="store_true", help="keep the rows of the last run")


class Case:
    """A program in a folder of its own. What is {outside} of the container is filled in when there is one."""

    def __init__(self, tree, out, program, folder, smoke):
        bench.install(program.packages)
        self.smoke = smoke
        self.tool, self.program = os.path.join(tree.build, "bin", "vfriendly"), program
        self.known = {"folder": folder, "here": HERE, "pg": BIN, "port": program.port, "load": os.path.join(out, "load"),
                      "ms": 100 if smoke else 2000, "warm_ms": 0 if smoke else 300, "seconds": 1, "requests": 100 if smoke else 2000,
                      # A second is enough for ten looks at the threads.
                      "steps": 250 if smoke else 1000}
        self.environment = {**os.environ, "RESTIC_REPOSITORY": os.path.join(folder, "repository"),
                            "RESTIC_PASSWORD": "x", "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder}
        if "{load}" in program.load:
            bench.build(["gcc", "-O2", os.path.join(HERE, "..", "servers", "load.c"), "-o", self.known["load"]])
        done = subprocess.run(["sh", "-c", self.text(program.prepare)], env=self.environment, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            raise bench.Broken(f"{program.prepare}: {done.stdout}{done.stderr}")

    def text(self, line, outside=""):
        return line.format(**self.known, outside=outside)

    @property
    def user(self):
        """Returns the beginning of a command of the program's user."""
        name = self.program.user
        return [] if name == "root" else ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups"]

    def verdict(self, prefix, confined):
        """Returns what measure prints. Confined, it has the program's user, too."""
        command = [*prefix, *(self.user if confined else []), self.tool, "measure", "--quiet"]
        if self.program.server:
            command += ["--seconds", str(MEASURE_S)]
        words = shlex.split(self.text(self.program.server or self.program.command))
        with tempfile.TemporaryFile("w+") as out:
            child = subprocess.Popen([*command, "--", *([] if confined else self.user), *words], env=self.environment, stdout=out,
                                     stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            self._load_until_end(child)
            out.seek(0)
            # What the program itself printed stands before it.
            lines = out.read().split("\n")
        if any("the command ended with status" in line for line in lines) and not self.program.server:
            raise bench.Broken("\n".join(lines))
        return lines

    def _listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.program.port), timeout=1).close()
            return True
        except OSError:
            return False

    def _load_until_end(self, child):
        """Loads a server again and again until the child ends."""
        load, until = None, time.monotonic() + TIMEOUT_S
        while child.poll() is None and time.monotonic() < until:
            if self.program.load and (load is None or load.poll() is not None) and self._listens():
                load = subprocess.Popen(["sh", "-c", self.text(self.program.load)], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(0.05)
        for left in (child, load):
            if left and left.poll() is None:
                os.killpg(left.pid, signal.SIGKILL) if left is load else left.kill()
                left.wait()

    def trial(self, prefix, outside, reps):
        """Returns what try has measured."""
        result = os.path.join(self.known["folder"], "try.json")
        command = [*prefix, self.tool, "try", "--quiet", "--reps", str(reps), "-o", result]
        if self.smoke:
            command += ["--remedies", "threads"]
        if self.program.metric:
            command += ["--metric", self.program.metric]
        if self.program.server:
            server = [*self.user, *shlex.split(self.text(self.program.server))]
            command += ["--server", shlex.join(server), "--load", self.text(self.program.load, outside)]
        else:
            command += ["--", *shlex.split(self.text(self.program.command))]
        done = measure.run(command, TIMEOUT_S * self.program.runs, self.environment)
        if done.status != "ok":
            raise bench.Broken(f"{' '.join(command)}: {done.status}: {done.errors}{done.output}")
        with open(result, encoding="utf-8") as file:
            return json.load(file)["variants"]


    def cpu_times(self, prefix, reps):
        """Returns remedy -> CPU seconds of each run, in turn."""
        words = shlex.split(self.text(self.program.command))
        lines = {AS_IT_IS: shlex.join(words)}
        for name in CPU_TIME[:1] if self.smoke else CPU_TIME:
            done = measure.run([*prefix, self.tool, "run", name, "--show", "--", *words], TIMEOUT_S, self.environment)
            if done.status == "ok":
                lines[name] = done.output.strip()
        times = {name: [] for name in lines}
        for _ in range(reps):
            for name, line in lines.items():
                before = _cpu_of_children()
                done = subprocess.run([*prefix, "sh", "-c", line], env=self.environment, capture_output=True, text=True,
                                      check=False)
                if done.returncode:
                    raise bench.Broken(f"{line}: {done.stdout}{done.stderr}")
                times[name].append(_cpu_of_children() - before)
        return times


def _cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _said(lines):
    """Returns the verdict, which stands before the times: one line, and one more if threads share CPUs."""
    for at, line in enumerate(lines):
        if line.startswith("wall ") and at >= 2:
            first = at - 3 if at >= 3 and " threads share " in lines[at - 3] else at - 2
            return lines[first:at - 1]
    raise bench.Broken("measure printed no verdict: " + "\n".join(lines))


def _remedy(said):
    """Returns the remedy that the first verdict names, or what stands for none."""
    found = re.search(r"vfriendly try --remedies ([\w+-]+)", " ".join(said))
    return found[1] if found else AS_IT_IS


def _times(variants):
    """Returns name -> numbers of which less is better."""
    found = {}
    for v in variants:
        if "failure" in v:
            continue
        name = next(k for k in v if k not in ("name", "line"))
        values = v[name]["values"]
        found[v["name"]] = values if name == "wall" else [1 / value for value in values]
    return found


def judged(said, times):
    """Returns the row of what the verdict's remedy gains beside the best one."""
    remedy = _remedy(said)
    gains = {name: cells.ratios(times[AS_IT_IS], each) for name, each in times.items()}
    best = max(gains, key=lambda name: gains[name]["median"])
    if remedy not in times:
        return {"remedy": remedy, "best": best, "gain_of_best": gains[best], "gain": None, "best_over_it": None}
    return {"remedy": remedy, "best": best, "gain_of_best": gains[best], "gain": gains[remedy],
            "best_over_it": cells.ratios(times[remedy], times[best])}


def _within(ratio):
    """Returns whether the best remedy is at most so many times as good, as far as the runs tell."""
    if not ratio:
        return "no"
    low, high = ratio["interval"] or (ratio["median"], ratio["median"])
    return "yes" if high <= WITHIN else "no" if low > WITHIN else "yes?" if ratio["median"] <= WITHIN else "no?"


def _row(name, kind, row):
    ratio = row["best_over_it"]
    return [name, kind, row["remedy"], cells.ratio_text(row["gain"]) if row["gain"] else "fails", row["best"],
            cells.ratio_text(row["gain_of_best"]), cells.ratio_text(ratio) if ratio else "-",
            _within(ratio)]


def main(tree, options, out):
    picked = options.programs.split(",") if options.programs else list(programs.PROGRAMS)
    names = [n for n in programs.PROGRAMS if any(n.lower().startswith(p.lower()) for p in picked)]
    if options.cpu_time:
        names = [n for n in names if programs.PROGRAMS[n].command]
    if not names or not container.cpu_group.are_allowed():
        raise bench.Usage("no such program" if not names else "containers need root and the CPU controller")
    reps = 1 if options.smoke else options.reps
    report = bench.Report("verdicts", tree, out, {"smoke": options.smoke, "reps": reps, "cpu_time": options.cpu_time})
    if options.add:
        report.add_to_last(replaces=lambda row: row["program"] in names)
    os.makedirs(out, exist_ok=True)
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="vf-") as folder, container.one_cpu() as (inside, confined, outside):
            os.chmod(folder, 0o755)
            case = Case(tree, out, programs.PROGRAMS[name], folder, options.smoke)
            lines = {"root": case.verdict(inside, False), "confined": case.verdict(confined, True)}
            said = {kind: _said(each) for kind, each in lines.items()}
            for kind, each in said.items():
                print(f"{name}, {kind}: " + "\n  ".join(each), flush=True)
            times = {} if options.no_try else case.cpu_times(inside, reps) if options.cpu_time else \
                _times(case.trial(inside, outside, reps * case.program.runs))
        for kind, each in said.items():
            report.summary(program=name, privileges=kind, said=each, printed=lines[kind],
                           **(judged(each, times) if times else {}))
        report.content["samples"].append({"program": name, "times": times})
        report.save()
        rows += [_row(name, kind, judged(each, times)) for kind, each in said.items()] if times else []
    if rows:
        print()
        bench.table(["", "privileges", "remedy", "gains", "best", "gains", "best over it", f"within {WITHIN}"], rows)
    report.write()
    return 0
