# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Binaries that spin: as they are, with libvfspin.so, and under gleaner tick: ./dev bench spin-unmodified [--only KIND,...]

What a program does in a second, and how many times more with each remedy: medians of pairs, with the interval in which
the median lies with a probability of 95 %. Redis, Go and Java take part where they are installed."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time

import bench

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "checkers", "cli"))
from vfriendly import intervals

SENTENCE = "Programs that spin and are not rebuilt: plain, with libvfspin.so, and under gleaner tick."
ALONE = False
HERE = os.path.dirname(os.path.abspath(__file__))
RATE = re.compile(r"rate: ([\d.]+)")
# Seconds after which a run has hung.
PATIENCE = 120


class Redis:
    """Debian's redis-server with four I/O threads: GET requests in a second."""

    def __init__(self, seconds):
        self.requests = max(1000, int(4000 * seconds))

    def run(self, prefix, environment):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        server = subprocess.Popen([*prefix, "redis-server", "--port", port, "--io-threads", "4", "--io-threads-do-reads", "yes",
                                   "--save", "", "--appendonly", "no"], env=environment, stdout=subprocess.DEVNULL)
        try:
            for _ in range(200):
                time.sleep(0.05)
                if subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True).returncode == 0:
                    break
            done = subprocess.run(["redis-benchmark", "-p", port, "-t", "get", "-n", str(self.requests), "-c", "50", "-q"],
                                  capture_output=True, text=True, timeout=PATIENCE)
            found = re.findall(r"GET: ([\d.]+) requests per second", done.stdout)
            if not found:
                raise bench.Broken(f"redis-benchmark: {done.stdout[-200:]}{done.stderr[-200:]}")
            return float(found[-1])
        finally:
            server.terminate()
            server.wait()


class Program:
    def __init__(self, *words):
        self.words = words

    def run(self, prefix, environment):
        done = subprocess.run([*prefix, *self.words], env=environment, capture_output=True, text=True, timeout=PATIENCE)
        found = RATE.search(done.stdout)
        if done.returncode or not found:
            raise bench.Broken(f"{' '.join(self.words)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return float(found[1])


def programs(tree, out, seconds):
    spins, static = os.path.join(out, "spins"), os.path.join(out, "spins-static")
    source = os.path.join(HERE, "spins.c")
    bench.build(["gcc", "-O2", "-pthread", source, "-o", spins])
    bench.build(["gcc", "-O2", "-pthread", "-static", source, "-o", static])
    found = {}
    for kind, threads in (("barrier", 4), ("barrier", 8), ("ticket", 4), ("exchange", 4), ("turns", 2), ("computes", 4),
                          ("computes", 200), ("sleeps", 200)):
        found[f"{kind} {threads}"] = Program(spins, kind, str(threads), str(seconds))
    found["static barrier 4"] = Program(static, "barrier", "4", str(seconds))
    if shutil.which("go"):
        go = os.path.join(out, "barrier-go")
        bench.build(["go", "build", "-o", go, os.path.join(HERE, "barrier.go")])
        found["Go barrier 4"] = Program(go, "4", str(seconds))
    if shutil.which("javac"):
        bench.build(["javac", "-d", out, os.path.join(HERE, "Barrier.java")])
        found["Java barrier 4"] = Program("java", "-cp", out, "Barrier", "4", str(seconds))
    if shutil.which("redis-server") and shutil.which("redis-benchmark"):
        found["Redis with 4 I/O threads"] = Redis(seconds)
    return found


def options(parser):
    parser.add_argument("--only", metavar="KIND,...", help="of the programs, by their names in the table")
    parser.add_argument("--reps", type=int, default=10, metavar="N", help="pairs of each [%(default)s]")
    parser.add_argument("--seconds", type=float, default=2, metavar="S", help="of a run [%(default)s]")


def main(tree, options, out):
    library, gleaner = os.path.join(tree.lib, "libvfspin.so"), os.path.join(tree.build, "bin", "gleaner")
    if not os.path.exists(library):
        raise bench.Broken("there is no libvfspin.so: install libcapstone-dev, and build")
    if options.reps < 1 or options.seconds <= 0:
        raise bench.Usage("--reps and --seconds must be positive")
    seconds, reps = (0.3, 1) if options.smoke else (options.seconds, options.reps)
    os.makedirs(out, exist_ok=True)
    known = programs(tree, out, seconds)
    if options.smoke:
        known = {name: known[name] for name in ("barrier 4", "computes 4", "static barrier 4")}
    picked = bench.choice(options.only, known, "program")
    report = bench.Report("spin-unmodified", tree, out, {"reps": reps, "seconds": seconds, "smoke": options.smoke})
    plain = dict(os.environ)
    variants = {"plain": ([], plain), "spin": ([], {**plain, "LD_PRELOAD": library}),
                "tick": ([gleaner, "tick", "--"], plain)}
    rows = []
    for name in picked:
        rates = {variant: [] for variant in variants}
        for _ in range(reps):
            for variant, (prefix, environment) in variants.items():
                rates[variant].append(known[name].run(prefix, environment))
        report.content["samples"].append({"program": name, "rates": rates})
        row, summary = [name, f"{sorted(rates['plain'])[reps // 2]:.0f}"], {}
        for variant in ("spin", "tick"):
            gain = intervals.of_ratios(rates[variant], rates["plain"])
            summary[variant] = {"ratio": gain.estimate, "low": gain.low, "high": gain.high}
            row.append(f"{gain.estimate:.3g} [{gain.low:.3g}, {gain.high:.3g}]" if reps > 5 else f"{gain.estimate:.3g}")
        report.summary(program=name, plain=sorted(rates["plain"])[reps // 2], **summary)
        report.save()
        rows.append(row)
        print(f"{name}: {row[1:]}", file=sys.stderr, flush=True)
    print(f"{reps} pairs of {seconds} s, in a second, and times as many with the remedy; {bench.cpus()} CPUs")
    bench.table(["", "plain", "spin", "tick"], rows)
    report.write()
    return 0
