# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Servers in a group with a limit of CPU time: ./dev bench servers [--servers S,...] [--limit CPUS] [--threads N,...]
[--clients N] [--ms N] [--reps N]

Debian's memcached and PostgreSQL as they are and with libvfpthread.so preloaded: requests per second, and in what time
99 of 100 are answered. The servers of a cell run at the same time, idle but for the one whose turn it is; each has a
limit of its own. What asks them has none.
"""

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import bench
import cells
import conditions
import measure

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "suites"))
import bring  # pylint: disable=wrong-import-position

SENTENCE = "memcached and PostgreSQL under a limit of CPU time: as they are, and with libvfpthread.so."
ALONE = False  # It downloads the servers.

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST_PORT = 17700
START_S, TIMEOUT_S = 30, 60
SMOKE_MS = 100


class Memcached:
    packages = ["memcached"]

    def __init__(self, root, out):
        self.program, self.load = os.path.join(root, "usr/bin/memcached"), os.path.join(out, "load")
        bench.build(["gcc", "-O2", os.path.join(HERE, "load.c"), "-o", self.load])

    def prepare(self, folder, port):
        pass

    def command(self, folder, port, threads):
        return [self.program, "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-t", str(threads), "-m", "64"]

    def ask(self, folder, port, clients, ms):
        return measure.run([self.load, str(port), str(clients), str(ms)], TIMEOUT_S)

    def is_up(self, folder, port):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            return False


class PostgreSQL:
    """Transactions of pgbench, which write; a database of 400,000 rows. `threads` is of no use."""
    packages = ["postgresql-15"]

    def __init__(self, root, _):
        self.root, self.user = root, bring.not_as_root()
        self.bin = os.path.join(root, "usr/lib/postgresql/15/bin")
        self.environment = {"LC_ALL": "C", "LD_LIBRARY_PATH": os.path.join(root, "usr/lib/x86_64-linux-gnu")}

    def call(self, *command):
        return [*self.user, os.path.join(self.bin, command[0]), *command[1:]]

    def prepare(self, folder, port):
        environment = {**os.environ, **self.environment}
        data = os.path.join(folder, "data")
        share = os.path.join(self.root, "usr/share/postgresql/15")
        bring.call(self.call("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "-L", share), "initdb",
                   env=environment)
        server = subprocess.Popen(self.command(folder, port, 0), env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            wait(self, folder, port, server)
            bring.call(self.call("pgbench", "-h", folder, "-p", str(port), "-U", "postgres", "-i", "-s", "4", "-q",
                                 "postgres"), "pgbench", env=environment)
        finally:
            server.terminate()
            server.wait()

    def command(self, folder, port, _):
        return self.call("postgres", "-D", os.path.join(folder, "data"), "-k", folder, "-p", str(port), "-h", "", "-c",
                         "fsync=off", "-c", "synchronous_commit=off", "-c", "autovacuum=off")

    def ask(self, folder, port, clients, ms):
        seconds = max(1, ms // 1000)
        log = os.path.join(folder, "log")
        one = measure.run(self.call("pgbench", "-h", folder, "-p", str(port), "-U", "postgres", "-n", "-N", "-c",
                                    str(clients), "-j", "2", "-T", str(seconds), "-l", f"--log-prefix={log}", "postgres"),
                          TIMEOUT_S, self.environment)
        took = []
        for name in os.listdir(folder):
            if name.startswith("log."):
                with open(os.path.join(folder, name)) as file:
                    took += [int(line.split()[2]) / 1e3 for line in file]
                os.remove(os.path.join(folder, name))
        found = re.search(r"tps = ([0-9.]+)", one.output)
        if found and took:
            took.sort()
            one.values.update(rps=float(found.group(1)), p50_ms=took[len(took) // 2], p99_ms=took[-1 - len(took) // 100])
        return one

    def is_up(self, folder, port):
        return os.path.exists(os.path.join(folder, f".s.PGSQL.{port}"))


SERVERS = {"memcached": Memcached, "postgresql": PostgreSQL}


def options(parser):
    parser.add_argument("--servers", metavar="S,...", help=f"of {', '.join(SERVERS)} [all]")
    parser.add_argument("--limit", type=float, default=1, metavar="CPUS", help="of each server; 0: none [%(default)s]")
    parser.add_argument("--threads", metavar="N,...", default="4", help="of the server [%(default)s]")
    parser.add_argument("--clients", type=int, default=16, metavar="N", help="connections [%(default)s]")
    parser.add_argument("--ms", type=int, default=1000, metavar="N", help="milliseconds of a run [%(default)s]")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="runs of each [%(default)s]")


def wait(server, folder, port, process):
    until = time.monotonic() + START_S
    while not server.is_up(folder, port):
        if process.poll() is not None or time.monotonic() > until:
            raise bench.Broken("a server does not start")
        time.sleep(0.1)


@contextlib.contextmanager
def running(server, variants, limit, threads):
    """Yields variant -> (folder, port)."""
    with contextlib.ExitStack() as stack:
        places = {}
        for number, (variant, preload) in enumerate(variants.items()):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="vf-"))
            port = FIRST_PORT + number
            server.prepare(folder, port)
            prefix = stack.enter_context(conditions.beside(f"limit-{limit}" if limit else "idle"))
            environment = {**os.environ, **getattr(server, "environment", {}), **preload}
            process = subprocess.Popen([*prefix, *server.command(folder, port, threads)], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            wait(server, folder, port, process)
            places[variant] = folder, port
        yield places


def main(tree, options, out):
    limit = options.limit if conditions.usable([f"limit-{options.limit}"]) else 0
    ms = SMOKE_MS if options.smoke else options.ms
    report = bench.Report("servers", tree, out, {"smoke": options.smoke, "limit": limit, "clients": options.clients,
                                                 "ms": ms, "reps": options.reps})
    variants = {"plain": {}, "libvfpthread": {"LD_PRELOAD": os.path.join(tree.lib, "libvfpthread.so")}}
    form = "{:12} {:>7}" + " {:>14}" * 4 + " {:>20}"
    print(form.format("", "threads", *(f"{v}/s" for v in variants), *(f"{v[:9]} p99" for v in variants), "rate ratio"))
    for name in bench.choice(options.servers, SERVERS, "server"):
        place = os.path.join(out, "servers")
        try:
            if all(shutil.which(p) for p in SERVERS[name].packages):
                root = "/"
            else:
                root = bring.Debian(place).packages(os.path.join(place, name), SERVERS[name].packages)
            server = SERVERS[name](root, out)
            for threads in map(int, options.threads.split(",")):
                with running(server, variants, limit, threads) as places:
                    runs = measure.in_turn({v: lambda at=at: server.ask(*at, options.clients, ms)
                                            for v, at in places.items()}, 1 if options.smoke else options.reps)
                for one in (one for each in runs.values() for one in each):
                    if "rps" not in one.values:
                        raise bench.Broken(f"{name} cannot be asked: {(one.errors + one.output)[-300:]}")
                report.samples(runs, server=name, threads=threads)
                middle = {v: {k: measure.spread([o.values[k] for o in each])["median"] for k in ("rps", "p50_ms", "p99_ms")}
                          for v, each in runs.items()}
                ratio, late = (cells.ratios(*([one.values[key] for one in runs[v]] for v in ("libvfpthread", "plain")))
                               for key in ("rps", "p99_ms"))
                report.summary(server=name, threads=threads, **middle, rate_ratio=ratio, p99_ratio=late)
                print(form.format(name, threads, *(f"{m['rps']:.0f}" for m in middle.values()),
                                  *(f"{m['p99_ms']:.2f} ms" for m in middle.values()), cells.ratio_text(ratio)), flush=True)
                report.save()
        except bring.NotRun as why:
            raise bench.Broken(str(why)) from why
    report.write()
    return 0
