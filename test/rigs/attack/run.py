#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Other people's programs, and programs that look for weak places, with each preloaded library and with all:
run.py BUILD [NAME...] [--list] [--smoke] [--lanes N] [--resume].

A cell is a set-up (setups.py) on two CPUs, one CPU or half a CPU. It runs plainly first, then with each library. What it
prints and its exit status must be among those of the plain runs. Programs that the libraries would break must be refused
by `vfriendly run`. Each cell has a folder and a network of its own, so several can run at once, and its result is kept
when it ends. Exit status: 0 if nothing differs, 1 if something does, 2 on a usage error, 3 if nothing could be run.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes
import fcntl
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import socket
import struct
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
# Runs of a cell without a library, whose results are the allowed ones.
PLAIN_RUNS = 2
# A plain run may take this many times the limit, and a run with a library this many times the slowest plain one: beside other
# work a compiler takes minutes, and has no fault.
PATIENCE = 8
SLOWER, SLOWER_S = 3, 1.0
# Of the first lane; a second one whose network is not its own has the next.
PORT = 7390


@dataclass(frozen=True)
class Result:
    output: str
    status: object  # a number, or "hangs"
    seconds: float
    errors: str

    @property
    def seen(self):
        return self.output, self.status


class OwnNetwork:
    """A network of loopback only; without the right to make one, all lanes share the machine's."""

    CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP = 0x40000000, 0x8914, 1

    def __init__(self):
        self._libc = ctypes.CDLL(None)

    def enter(self):
        if self._libc.unshare(self.CLONE_NEWNET) == 0:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
                fcntl.ioctl(any_socket, self.SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", self.IFF_UP))


class Machine:
    """Runs commands with an amount of CPU time, for one lane."""

    def __init__(self, stack, wanted, lane):
        self._two = sorted(os.sched_getaffinity(0))[:2]
        self._one = self._two[lane % len(self._two):][:1]
        self._half = None
        self._network = OwnNetwork()
        self.port = PORT + lane
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
            os.sched_setaffinity(0, self._one if cpus == "one" else self._two)
            if cpus == "half":
                self._half.enter()
            self._network.enter()

        begin = time.monotonic()
        # pylint: disable-next=subprocess-popen-preexec-fn
        child = subprocess.Popen(["bash", "-c", command], cwd=folder, env={**environment, "PORT": str(self.port)},
                                 preexec_fn=enter, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            output, errors = child.communicate(timeout=timeout)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            try:
                output, errors = child.communicate(timeout=5)
            except subprocess.TimeoutExpired:  # a daemon has left the session, with the pipes
                output, errors = "", ""
            status = "hangs"
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
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
        self._lib = options.lib
        self._ways = {way: libraries for way, libraries in ways(self._lib).items()
                      if way in (options.library or (*LIBRARIES, "all"))}

    def run(self, setup, cpus):
        """Returns the result of one cell."""
        missing = [name for name in setup.needs if not shutil.which(name)]
        if missing:
            return {"state": "not run", "reason": f"there is no {missing[0]}"}
        folder = os.path.join(self._options.out, f"{setup.name}-{cpus}")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        plain = environment(self._lib, (), folder)
        if setup.makes:
            made = subprocess.run(["bash", "-c", setup.makes], cwd=folder, capture_output=True, text=True, check=False,
                                  env={**os.environ, "TMPDIR": folder})
            if made.returncode:
                return {"state": "not run", "reason": f"it does not build: {made.stderr.strip().splitlines()[-1:]}"}
        if setup.refused:
            return self._is_refused(setup, folder, plain, cpus)
        command = setup.command.replace("LIB/", self._lib + "/")
        entry = {"state": "run", "runs": 0, "differ": [], "slow": []}
        before = []

        def run(libraries, timeout):
            return self._machine.run(command, folder, environment(self._lib, libraries, folder), cpus, timeout)

        def runs_plainly():
            before.append(run((), PATIENCE * self._options.timeout))
            return before[-1].status != "hangs"

        def limit():
            return max(self._options.timeout, PATIENCE * max(r.seconds for r in before))

        def allowed():
            return {r.seen for r in before}

        if not all(runs_plainly() for _ in range(PLAIN_RUNS)):
            return {"state": "not run", "reason": f"it has no end within {before[-1].seconds:.0f} s without a library"}
        for way, libraries in self._ways.items():
            results = []
            for _ in range(self._options.repeats):
                result = run(libraries, limit())
                # Beside other work both may take longer than before, and few programs print two things: the plain run
                # is asked again, and the other one then has the time that this one takes.
                if result.seen not in allowed() and runs_plainly() and result.status == "hangs" and limit() > result.seconds:
                    result = run(libraries, limit())
                results.append(result)
            entry["runs"] += len(results)
            wrong = [r for r in results if r.seen not in allowed()]

            def is_slow():
                return min(r.seconds for r in results) > SLOWER * max(r.seconds for r in before) + SLOWER_S

            if wrong:
                entry["differ"].append({
                    "way": way, "cpus": cpus, "times": len(wrong), "of": len(results), "status": wrong[0].status,
                    "output": wrong[0].output[-200:], "errors": wrong[0].errors[-200:]})
            elif is_slow() and runs_plainly() and is_slow():
                entry["slow"].append({"way": way, "cpus": cpus, "seconds": round(results[0].seconds, 2),
                                      "plain": round(max(r.seconds for r in before), 2)})
        entry["plain"] = [round(r.seconds, 2) for r in before]
        shutil.rmtree(folder, ignore_errors=True)
        return entry

    def _is_refused(self, setup, folder, plain, cpus):
        tool = os.path.join(self._tree.build, "bin", "vfriendly")
        if not os.path.exists(tool):
            return {"state": "not run", "reason": f"there is no {tool}"}
        entry = {"state": "run", "runs": 0, "differ": [], "slow": []}
        for way, libraries in self._ways.items():
            remedies = "+".join("openmp" if name == "omp" else name for name in libraries)
            result = self._machine.run(f"{tool} run {remedies} -- {setup.command}", folder, plain, cpus,
                                       PATIENCE * self._options.timeout)
            entry["runs"] += 1
            if result.status != 2 or setup.refused not in result.errors or result.errors.count("\n") != 1:
                entry["differ"].append({"way": way, "cpus": cpus, "times": 1, "of": 1,
                                        "status": result.status, "output": result.output[-200:],
                                        "errors": result.errors[-200:]})
        return entry


class Kept:
    """Results of cells in OUT/cells.jsonl, each a line that names the libraries it was measured with."""

    def __init__(self, options):
        self._path = os.path.join(options.out, "cells.jsonl")
        parts = []
        for name in LIBRARIES:
            path = os.path.join(options.lib, f"libvf{name}.so")
            if os.path.exists(path):
                with open(path, "rb") as file:
                    parts.append(hashlib.sha256(file.read()).hexdigest())
        self._libraries = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
        if not options.resume:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._path)

    def read(self):
        """Returns what these libraries gave: {(set-up, CPUs): result}. What could not be run is tried again."""
        with contextlib.suppress(FileNotFoundError), open(self._path, encoding="utf-8") as file:
            cells = [json.loads(line) for line in file if line.endswith("\n")]
            return {(c["setup"], c["cpus"]): c["result"] for c in cells
                    if c["libraries"] == self._libraries and c["result"]["state"] == "run"}
        return {}

    def add(self, name, cpus, result):
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"libraries": self._libraries, "setup": name, "cpus": cpus, "result": result}) + "\n")


_attack = None  # of this lane's process


def enter_lane(tree, machines, lanes, options):
    global _attack  # pylint: disable=global-statement
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _attack = Attack(tree, machines[lanes.get()], options)


def run_cell(name, cpus):
    print(f"== {name}, {cpus}", file=sys.stderr, flush=True)
    return _attack.run(setups.ALL[name], cpus)


def run_cells(cells, tree, machines, options, kept):
    """Yields (set-up, CPUs, result) of each cell."""
    context = multiprocessing.get_context("fork")
    lanes = context.SimpleQueue()
    for lane in range(len(machines)):
        lanes.put(lane)
    done = kept.read()
    with concurrent.futures.ProcessPoolExecutor(len(machines), context, enter_lane, (tree, machines, lanes, options)) as pool:
        futures = {pool.submit(run_cell, *cell): cell for cell in cells if cell not in done}
        yield from ((*cell, done[cell]) for cell in cells if cell in done)
        try:
            for future in concurrent.futures.as_completed(futures):
                kept.add(*futures[future], future.result())
                yield (*futures[future], future.result())
        except BaseException:
            for lane in multiprocessing.active_children():
                lane.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def of_setup(results):
    """Returns the entry of a set-up in the report, of the results of its cells."""
    if results and all(r["state"] == "run" for r in results):
        return {"state": "run", "runs": sum(r["runs"] for r in results), "differ": [d for r in results for d in r["differ"]],
                "slow": [s for r in results for s in r["slow"]]}
    return next((r for r in results if r["state"] != "run"), {"state": "not run", "reason": "interrupted"})


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
    parser.add_argument("--lanes", type=int, default=1, help="cells that run at once [%(default)s]")
    parser.add_argument("--resume", action="store_true", help="run only what an earlier run of these libraries has not")
    parser.add_argument("--lib", metavar="DIR", help="libraries of another folder [BUILD/lib]")
    parser.add_argument("--out", metavar="DIR", help="where all is kept [BUILD/attack]")
    return parser.parse_intermixed_args()


def run(options):
    if options.list:
        for setup in setups.ALL.values():
            print(f"{setup.name:20} {setup.sentence}")
        return 0
    unknown = [name for name in options.name if name not in setups.ALL]
    if unknown:
        raise bench.Usage(f"no set-up '{unknown[0]}', there are: {', '.join(setups.ALL)}")
    if options.repeats < 1 or options.timeout <= 0 or options.lanes < 1:
        raise bench.Usage("--repeats, --lanes and --timeout must be positive")
    tree = bench.Tree(options.build)
    options.lib = os.path.abspath(options.lib or tree.lib)
    options.out = os.path.abspath(options.out or os.path.join(tree.build, "attack"))
    os.makedirs(options.out, exist_ok=True)
    wanted = options.cpus or (CPUS[:1] if options.smoke else CPUS)
    with contextlib.ExitStack() as stack:
        machines = [Machine(stack, wanted, lane) for lane in range(options.lanes)]
        machine = machines[0]
        if not machine.cpus:
            print(f"attack: {next(iter(machine.left_out.values()))}", file=sys.stderr)
            return 3
        report = {"began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": bench.machine(),
                  **bench.commit(tree.source), "left_out": machine.left_out, "setups": {}}
        names = options.name or [s.name for s in setups.ALL.values() if s.smoke or not options.smoke]
        # What is refused is so without a run, for which CPUs make no difference.
        cells = [(name, cpus) for name in names for cpus in machine.cpus[:1 if setups.ALL[name].refused else None]]
        results = {}
        with contextlib.suppress(KeyboardInterrupt):
            for name, cpus, result in run_cells(cells, tree, machines, options, Kept(options)):
                results[name, cpus] = result
        report["setups"] = {name: of_setup([results.get(cell, {"state": "not run", "reason": "interrupted"})
                                            for cell in cells if cell[0] == name]) for name in names}
    with open(os.path.join(options.out, "report.json"), "w", encoding="utf-8") as file:
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
