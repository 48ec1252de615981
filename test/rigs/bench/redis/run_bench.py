# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Redis with I/O threads: ./dev bench redis [--threads 1,2,4,8] [--hogs 0,1] [--limit CPUS] [--reps N]

Redis' threads spin for each other: an I/O thread a million polls in front of a mutex, the
main thread until several words are zero. The source is Debian's; it is built as it is, with
the plugin, with the plugin but not linked with libvfrt, with libvfpthread and libvfmalloc
preloaded, and with a sched_yield written by hand into each of the three waits. The servers of a
cell run at the same time, idle but for the one whose turn it is.
"""

import contextlib
import csv
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import bench
import cells
import conditions
import measure

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "suites"))
import bring

SENTENCE = "Redis with I/O threads: as it is, with the plugin, without libvfrt, with preloads, and with yields by hand."
ALONE = False  # It downloads and builds Redis.

FIRST_PORT = 17400
CLIENTS = 50
TESTS = ("SET", "GET")
# Requests that take about this long, after a trial of so many.
TARGET_S = 1.0
TRIAL, MOST = 1000, 200_000
TIMEOUT_S = 60
VARIANTS = ("plain", "plugin", "alone", "preload", "hand", "one thread")
# These run what was built as it is.
AS_BUILT = ("plain", "preload", "one thread")

# What a careful programmer adds: polls for a hand-over, then yields.
POLLS = 200
BY_HAND = (
    ("if (getIOPendingCount(id) != 0) break;\n",
     f"if (getIOPendingCount(id) != 0) break;\n            if (j >= {POLLS}) sched_yield();\n", 1),
    ("    while(1) {\n        unsigned long pending = 0;\n",
     "    for (unsigned long polls = 0;; polls++) {\n        unsigned long pending = 0;\n", 2),
    ("        if (pending == 0) break;\n",
     f"        if (pending == 0) break;\n        if (polls >= {POLLS}) sched_yield();\n", 2),
)


def options(parser):
    parser.add_argument("--threads", metavar="N,...", default="4", help="I/O threads, of 1,2,4,8 [%(default)s]")
    parser.add_argument("--hogs", metavar="N,...", default="0", help="threads that compute beside it [%(default)s]")
    parser.add_argument("--limit", type=float, metavar="CPUS", help="of CPU time, for each server; needs root")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--variants", metavar="V,...", help=f"of {', '.join(VARIANTS)}")


def by_hand(folder):
    path = os.path.join(folder, "src", "networking.c")
    with open(path) as file:
        text = file.read()
    for old, new, times in BY_HAND:
        if text.count(old) != times:
            raise bench.Broken(f"{path} is not what it was: '{old.strip()}' stands there {text.count(old)} times")
        text = text.replace(old, new)
    with open(path, "w") as file:
        file.write(text)


def compile_server(tree, source, folder, variant):
    """Returns the folder with redis-server and redis-benchmark."""
    stamp = bench.commit(tree.source)
    key = f"2 {variant} {stamp if variant in ('plugin', 'alone') else ''}"
    with bring.Once(folder, key) as todo:
        if todo:
            made = os.path.join(folder, "redis")
            shutil.copytree(source, made, symlinks=True)
            if variant == "hand":
                by_hand(made)
            plugin, linked = variant in ("plugin", "alone"), variant == "plugin"
            bench.build(
                ["make", "-C", os.path.join(made, "src"), f"-j{bench.cpus()}", f"CC={tree.tool('clang')}", "MALLOC=libc",
                 "BUILD_TLS=no", "USE_SYSTEMD=no", "OPTIMIZATION=-O2",
                 "CFLAGS=" + " ".join(["-w"] + (tree.plugin_flags() if plugin else [])),
                 "LDFLAGS=" + " ".join(tree.link_flags() if linked else []),
                 "redis-server", "redis-benchmark"]
            )
    return os.path.join(folder, "redis", "src")


class Server:
    """A running server; its statistics, if it has any, when it is stopped."""

    def __init__(self, folder, threads, port, preloads=(), prefix=()):
        self.port = port
        preload = {"LD_PRELOAD": ":".join(preloads)} if preloads else {}
        self.process = subprocess.Popen(
            [*prefix, os.path.join(folder, "redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--io-threads",
             str(threads), "--io-threads-do-reads", "yes", "--save", "", "--appendonly", "no", "--dir", folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "VF_STATS": "1", **preload})
        for _ in range(100):
            if self.process.poll() is not None:
                raise bench.Broken(f"redis-server ended: {self.process.stderr.read().strip()[-300:]}")
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        raise bench.Broken(f"redis-server does not listen on port {port}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.communicate(timeout=20)[1].strip()
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.communicate()[1].strip()


def load(client, port, requests):
    """One measured run of all TESTS."""
    one = measure.run([client, "-h", "127.0.0.1", "-p", str(port), "-c", str(CLIENTS), "-n", str(requests), "-t",
                       ",".join(TESTS).lower(), "--csv"], TIMEOUT_S)
    if one.status == "failed":
        raise bench.Broken(f"redis-benchmark: {one.errors.strip()[-300:]}")
    for row in csv.DictReader(one.output.splitlines()):
        name = row["test"].lower()
        one.values[f"{name}_rps"] = float(row["rps"])
        for part in ("p50", "p99"):
            one.values[f"{name}_{part}_ms"] = float(row[f"{part}_latency_ms"])
    return one


def calibrate(client, port):
    one = load(client, port, TRIAL)
    if one.status == "timeout":
        return TRIAL
    return int(min(MOST, max(TRIAL, TARGET_S * min(rate(one, t).value for t in TESTS))))


def rate(one, test):
    key = f"{test.lower()}_rps"
    if key not in one.values:  # Killed: it is less than its requests in all that time.
        return measure.Figure(MOST / TIMEOUT_S, "<")
    return measure.Figure(one.values[key])


def row_of(report, threads, hogs, runs, said):
    def ratio(over, under):
        if over not in runs or under not in runs:
            return None
        return measure.median_figure(
            r for t in TESTS for r in measure.pair_ratios(runs[over], runs[under], lambda one, t=t: rate(one, t)))

    def show(name):
        if name not in runs:
            return "-"
        rates = "/".join(measure.median_figure(rate(o, t) for o in runs[name]).text("{:.0f}") for t in TESTS)
        late = [o.values for o in runs[name] if "get_p99_ms" in o.values]
        if not late:
            return rates
        middle = {p: measure.spread([v[f"get_{p}_ms"] for v in late])["median"] for p in ("p50", "p99")}
        return f"{rates} {middle['p50']:.2f}/{middle['p99']:.2f}"

    found = {"over_plain": ratio("plugin", "plain"), "over_hand": ratio("plugin", "hand"),
             "alone_over_plain": ratio("alone", "plain"), "alone_over_hand": ratio("alone", "hand"),
             "preload_over_plain": ratio("preload", "plain")}
    # Of variants that answered in each run.
    get = {name: [one.values.get("get_rps") for one in each] for name, each in runs.items()}
    over_plain = {name: cells.ratios(rates, get["plain"]) for name, rates in get.items()
                  if name != "plain" and None not in (*rates, *get.get("plain", [None]))}
    report.samples(runs, threads=threads, hogs=hogs)
    report.summary(threads=threads, hogs=hogs, statistics=said, get_over_plain=over_plain,
                   **{k: v.text("{:.3g}") if v else None for k, v in found.items()})
    text = [v.text("{:.2f}") if v else "-" for v in found.values()]
    return [f"{threads} threads, {hogs} hogs"] + [show(n) for n in VARIANTS] + text


def main(tree, options, out):
    variants = bench.choice(options.variants, VARIANTS, "variant")
    known = ["1", "2", "4", "8"]
    all_threads = [int(t) for t in bench.choice(options.threads, known, "number of I/O threads")]
    all_hogs = [int(h) for h in bench.choice(options.hogs, [str(n) for n in range(9)], "number of hogs")]
    repetitions = 1 if options.smoke else options.reps
    progress = measure.Progress("redis")
    place = os.path.join(out, "redis")
    os.makedirs(place, exist_ok=True)
    try:
        source = bring.Debian(place).source(os.path.join(place, "source"), "redis")
    except bring.NotRun as why:
        raise bench.Broken(str(why))
    folders = {}
    for name in ["plain"] + [v for v in variants if v not in AS_BUILT]:
        progress.at(f"building {name}")
        folders[name] = compile_server(tree, source, os.path.join(place, name), name)
    folders.update((name, folders["plain"]) for name in AS_BUILT)
    client = os.path.join(folders["plain"], "redis-benchmark")
    version = re.search(r'REDIS_VERSION "(.*)"', open(os.path.join(source, "src/version.h")).read())
    report = bench.Report("redis", tree, out, {
        "smoke": options.smoke, "reps": repetitions, "limit": options.limit, "clients": CLIENTS, "polls_by_hand": POLLS,
        "redis": version.group(1) if version else "unknown"})
    rows = []
    for hogs in all_hogs:
        for threads in all_threads:
            servers, beside, groups = {}, [], contextlib.ExitStack()
            condition = f"limit-{options.limit}" if options.limit else "idle"
            try:
                for number, name in enumerate(variants):
                    servers[name] = Server(folders[name], 1 if name == "one thread" else threads, FIRST_PORT + number,
                                           tree.preloads() if name == "preload" else (),
                                           groups.enter_context(conditions.beside(condition)))
                beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(hogs)]
                cells = {}
                for name, server in servers.items():
                    progress.at(f"{threads} threads, {hogs} hogs, calibrating {name}")
                    requests = TRIAL if options.smoke else calibrate(client, server.port)
                    cells[name] = lambda p=server.port, n=requests: load(client, p, n)
                runs = measure.in_turn(cells, repetitions,
                                       lambda n, t=threads, h=hogs: progress.at(f"{t} threads, {h} hogs, run {n}"))
            finally:
                for hog in beside:
                    hog.kill()
                    hog.wait()
                said = {name: server.stop() for name, server in servers.items()}
                groups.close()
            rows.append(row_of(report, threads, hogs, runs, said.get("plugin", "")))
    progress.end()
    print(f"requests a second, SET/GET, and GET's p50/p99 in ms; medians of {repetitions}; {bench.cpus()} CPUs; "
          f"{CLIENTS} clients.\nRatios are medians of pairs.")
    bench.table(["cell"] + list(VARIANTS) +
                ["plugin/plain", "plugin/hand", "alone/plain", "alone/hand", "preload/plain"], rows)
    report.write()
    return 0
