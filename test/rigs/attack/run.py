#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other people's programs, and programs that look for weak places, with each preloaded library and with all:
run.py BUILD [NAME...] [--list] [--smoke].

Each set-up (setups.py) runs plainly first, then with each library on two CPUs, one CPU and half a CPU. What it prints
and its exit status must be among those of the plain runs. Programs that the libraries would break must be refused by
`vfriendly run`. Exit status: 0 if nothing differs, 1 if something does, 2 on a usage error, 3 if nothing could be run.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "bench"), os.path.join(HERE, "..", "..", "Inputs")]

import bench
import cpu_group
import setups

LIBRARIES = ("malloc", "pthread", "omp", "numa")
# libvfnuma does nothing by itself.
NUMA = {"VF_NUMA": "interleave", "VF_NUMA_PIN": "core"}
CPUS = ("two", "one", "half")
# Runs of a set-up without a library, whose results are the allowed ones.
PLAIN_RUNS = 2
# A plain run may take this many times the limit, and a run with a library this many times the slowest plain one: beside other
# work a compiler takes minutes, and has no fault.
PATIENCE = 8
SLOWER, SLOWER_S = 3, 1.0


@dataclass(frozen=True)
class Result:
    output: str
    status: object  # a number, or "hangs"
    seconds: float
    errors: str

    @property
    def seen(self):
        return self.output, self.status


class Machine:
    """Runs commands with an amount of CPU time."""

    def __init__(self, stack, wanted):
        self._two = sorted(os.sched_getaffinity(0))[:2]
        self._half = None
        self.cpus, self.left_out = [], {}
        for each in wanted:
            why = ""
            if each == "two" and len(self._two) < 2:
                why = "this machine has one CPU"
            if each == "half":
                try:
                    self._half = stack.enter_context(cpu_group.group(0.5))
                except OSError as error:
                    why = f"no control group: {error}"
            if why:
                self.left_out[each] = why
            else:
                self.cpus.append(each)

    def run(self, command, folder, environment, cpus, timeout):
        def enter():
            os.sched_setaffinity(0, self._two[:1] if cpus == "one" else self._two)
            if cpus == "half":
                self._half.enter()

        begin = time.monotonic()
        # pylint: disable-next=subprocess-popen-preexec-fn
        child = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, preexec_fn=enter,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 errors="replace", start_new_session=True)
        try:
            output, errors = child.communicate(timeout=timeout)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, errors = child.communicate()
            status = "hangs"
        return Result(output, status, time.monotonic() - begin, errors)


def environment(lib, libraries, folder):
    """Returns the environment of a run with these libraries."""
    done = {**os.environ, "HOME": folder, "TMPDIR": folder}
    done.pop("LD_PRELOAD", None)
    if libraries:
        done["LD_PRELOAD"] = ":".join(os.path.join(lib, f"libvf{name}.so") for name in libraries)
    if "numa" in libraries:
        done.update(NUMA)
    return done


def ways(lib):
    """Returns the libraries of each way to run a set-up; some are built only for some processors."""
    there = [name for name in LIBRARIES if os.path.exists(os.path.join(lib, f"libvf{name}.so"))]
    return {**{name: (name,) for name in there}, "all": tuple(there)}


class Attack:
    def __init__(self, tree, machine, options):
        self._tree, self._machine, self._options = tree, machine, options
        self._lib = os.path.abspath(options.lib or tree.lib)
        self._ways = {way: libraries for way, libraries in ways(self._lib).items()
                      if way in (options.library or (*LIBRARIES, "all"))}
        self._place = os.path.abspath(options.out or os.path.join(tree.build, "attack"))

    def run(self, setup):
        """Returns the entry of one set-up in the report."""
        missing = [name for name in setup.needs if not shutil.which(name)]
        if missing:
            return {"state": "not run", "reason": f"there is no {missing[0]}"}
        folder = os.path.join(self._place, setup.name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        plain = environment(self._lib, (), folder)
        if setup.makes:
            made = subprocess.run(["bash", "-c", setup.makes], cwd=folder, capture_output=True, text=True, check=False,
                                  env={**os.environ, "TMPDIR": folder})
            if made.returncode:
                return {"state": "not run", "reason": f"it does not build: {made.stderr.strip().splitlines()[-1:]}"}
        if setup.refused:
            return self._is_refused(setup, folder, plain)
        command = setup.command.replace("LIB/", self._lib + "/")
        run, timeout = self._machine.run, self._options.timeout
        before = [run(command, folder, plain, cpus, PATIENCE * timeout) for cpus in self._machine.cpus for _ in range(PLAIN_RUNS)]
        if any(r.status == "hangs" for r in before):
            return {"state": "not run", "reason": f"it has no end within {PATIENCE * timeout:g} s without a library"}
        allowed = {r.seen for r in before}
        longest = max(r.seconds for r in before)
        timeout = max(timeout, PATIENCE * longest)
        entry = {"state": "run", "runs": 0, "differ": [], "slow": []}
        for cpus in self._machine.cpus:
            for way, libraries in self._ways.items():
                results = [run(command, folder, environment(self._lib, libraries, folder), cpus, timeout)
                           for _ in range(self._options.repeats)]
                entry["runs"] += len(results)
                wrong = [r for r in results if r.seen not in allowed]
                if wrong:
                    entry["differ"].append({
                        "way": way, "cpus": cpus, "times": len(wrong), "of": len(results), "status": wrong[0].status,
                        "output": wrong[0].output[-200:], "errors": wrong[0].errors[-200:]})
                elif min(r.seconds for r in results) > SLOWER * longest + SLOWER_S:
                    entry["slow"].append({"way": way, "cpus": cpus, "seconds": round(results[0].seconds, 2),
                                          "plain": round(longest, 2)})
        return entry

    def _is_refused(self, setup, folder, plain):
        tool = os.path.join(self._tree.build, "bin", "vfriendly")
        if not os.path.exists(tool):
            return {"state": "not run", "reason": f"there is no {tool}"}
        entry = {"state": "run", "runs": 0, "differ": [], "slow": []}
        for way, libraries in self._ways.items():
            remedies = "+".join("openmp" if name == "omp" else name for name in libraries)
            result = self._machine.run(f"{tool} run {remedies} -- {setup.command}", folder, plain,
                                       self._machine.cpus[0], self._options.timeout)
            entry["runs"] += 1
            if result.status != 2 or setup.refused not in result.errors or result.errors.count("\n") != 1:
                entry["differ"].append({"way": way, "cpus": self._machine.cpus[0], "times": 1, "of": 1,
                                        "status": result.status, "output": result.output[-200:],
                                        "errors": result.errors[-200:]})
        return entry


def show(report):
    rows = []
    for name, entry in report["setups"].items():
        if entry["state"] != "run":
            rows.append([name, "", "", "", f"not run: {entry['reason']}"])
            continue
        differ = "; ".join(f"{d['way']} on {d['cpus']}: {d['times']} of {d['of']}" for d in entry["differ"])
        slow = "; ".join(f"{s['way']} on {s['cpus']}: {s['plain']} -> {s['seconds']} s" for s in entry["slow"])
        rows.append([name, entry["runs"], len(entry["differ"]), len(entry["slow"]), differ or slow or "as plain"])
    bench.table(["set-up", "runs", "differ", "slow", ""], rows)
    for name, entry in report["setups"].items():
        for each in entry.get("differ", []):
            print(f"differs: {name}, {each['way']} on {each['cpus']} CPU: status {each['status']}, "
                  f"prints {each['output']!r}, says {each['errors']!r}")
    ran = [e for e in report["setups"].values() if e["state"] == "run"]
    print(f"{sum(e['runs'] for e in ran)} runs of {len(ran)} set-ups, {sum(bool(e['differ']) for e in ran)} differ; "
          f"{len(report['setups']) - len(ran)} not run")
    for cpus, why in report["left_out"].items():
        print(f"not run on {cpus} CPU: {why}")


def arguments():
    parser = argparse.ArgumentParser(
        prog="./dev attack", description="Others' programs with each preloaded library and all, against plain.")
    parser.add_argument("build", help=argparse.SUPPRESS)
    parser.add_argument("name", nargs="*", help="set-ups to run [all]")
    parser.add_argument("--list", action="store_true", help="say which there are")
    parser.add_argument("--smoke", action="store_true", help="a few set-ups, on the first kind of CPUs")
    parser.add_argument("--repeats", type=int, default=2, help="runs of each [%(default)s]")
    parser.add_argument("--library", action="append", choices=(*LIBRARIES, "all"), help="only with this one")
    parser.add_argument("--cpus", action="append", choices=CPUS, help="only on these [two, one, half]")
    parser.add_argument("--timeout", type=float, default=setups.TIMEOUT_S, help="seconds of a run [%(default)s]")
    parser.add_argument("--lib", metavar="DIR", help="libraries of another folder [BUILD/lib]")
    parser.add_argument("--out", metavar="DIR", help="where all is kept [BUILD/attack]")
    return parser.parse_args()


def run(options):
    if options.list:
        for setup in setups.ALL.values():
            print(f"{setup.name:20} {setup.sentence}")
        return 0
    unknown = [name for name in options.name if name not in setups.ALL]
    if unknown:
        raise bench.Usage(f"no set-up '{unknown[0]}', there are: {', '.join(setups.ALL)}")
    if options.repeats < 1 or options.timeout <= 0:
        raise bench.Usage("--repeats and --timeout must be positive")
    tree = bench.Tree(options.build)
    wanted = options.cpus or (CPUS[:1] if options.smoke else CPUS)
    with contextlib.ExitStack() as stack:
        machine = Machine(stack, wanted)
        if not machine.cpus:
            print(f"attack: {next(iter(machine.left_out.values()))}", file=sys.stderr)
            return 3
        attack = Attack(tree, machine, options)
        report = {"began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": bench.machine(),
                  **bench.commit(tree.source), "left_out": machine.left_out, "setups": {}}
        names = options.name or [s.name for s in setups.ALL.values() if s.smoke or not options.smoke]
        for name in names:
            print(f"== {name}", file=sys.stderr, flush=True)
            try:
                report["setups"][name] = attack.run(setups.ALL[name])
            except KeyboardInterrupt:
                report["setups"][name] = {"state": "not run", "reason": "interrupted"}
                break
    place = os.path.abspath(options.out or os.path.join(tree.build, "attack"))
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "report.json"), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1)
        file.write("\n")
    show(report)
    entries = report["setups"].values()
    if any(e.get("differ") for e in entries):
        return 1
    return 0 if any(e["state"] == "run" for e in entries) else 3


def main():
    try:
        return run(arguments())
    except bench.Broken as error:
        print(f"attack: {error}", file=sys.stderr)
        return 2 if isinstance(error, bench.Usage) else 3


if __name__ == "__main__":
    bench.exit_with(main)
