# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run of a workload, server and clients: workload.py FOLDER SECONDS NAME. Prints
{"rate": per second, "p99_ms": of an operation, where it is known}.

All of it runs under the daemon, as it would in a guest that has nothing else to do.
"""

import glob
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

PORT = 17620
SAMPLED = 0.1  # of pgbench's transactions are logged, hundreds a second


def wait_for_port(port):
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def idle(folder, seconds, name):
    """idle: for what the daemon itself costs"""
    time.sleep(seconds)
    print(json.dumps({"rate": 1 / seconds}))


def pingpong(folder, seconds, name):
    """pingpong:PAIRS:WORK_NS:free|pinned"""
    _, pairs, work, where = name.split(":")
    print(output(os.path.join(folder, "pingpong"), str(seconds), work, pairs, where), end="")


def memcached(folder, seconds, name):
    """memcached:CONNECTIONS, two threads of the server"""
    server = subprocess.Popen(["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(PORT), "-t", "2"])
    try:
        wait_for_port(PORT)
        ask = (str(PORT), name.split(":")[1], str(int(seconds * 1000)))
        answer = json.loads(output(os.path.join(folder, "load"), *ask))
        print(json.dumps({"rate": answer["rps"], "p99_ms": answer["p99_ms"]}))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def stages(folder, seconds, name):
    """stages:N, of examples/gleaner"""
    text = output(os.path.join(folder, "stages"), name.split(":")[1], str(seconds))
    print(json.dumps({"rate": float(re.search(r"([0-9.]+) items per second", text).group(1))}))


def redis(folder, seconds, name):
    """redis:CLIENTS"""
    clients = name.split(":")[1]
    server = subprocess.Popen(["redis-server", "--port", str(PORT), "--bind", "127.0.0.1", "--save", "",
                               "--appendonly", "no", "--dir", folder], stdout=subprocess.DEVNULL)
    try:
        wait_for_port(PORT)
        # As many requests as take about that long, by a trial.
        ask = ("redis-benchmark", "-p", str(PORT), "-t", "get", "-c", clients, "--csv", "-n")
        rate = lambda text: float(text.splitlines()[-1].split(",")[1].strip('"'))
        trial = rate(output(*ask, "4000"))
        text = output(*ask, str(int(trial * seconds)))
        p99 = float(text.splitlines()[-1].split(",")[6].strip('"'))
        print(json.dumps({"rate": rate(text), "p99_ms": p99}))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def logged_p99(prefix):
    """Of pgbench's logs, whose third column is microseconds; removes them."""
    times = []
    for path in glob.glob(prefix + "*"):
        with open(path) as file:
            times += [int(line.split()[2]) for line in file]
        os.remove(path)
    return sorted(times)[int(0.99 * len(times))] / 1e3


def postgresql(folder, seconds, name):
    """postgresql:CLIENTS, which only read; the cluster is made once."""
    clients = name.split(":")[1]
    tools = sorted(
        f"/usr/lib/postgresql/{v}/bin" for v in os.listdir("/usr/lib/postgresql"))[-1]
    data = os.path.join(folder, "cluster")
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
    server = subprocess.Popen([*user, f"{tools}/postgres", "-D", data, "-p", str(PORT + 1), "-k", folder,
                               "-c", "listen_addresses=", "-c", "fsync=off"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        log = os.path.join(folder, f"transactions-{os.getpid()}")
        ask = [*user, f"{tools}/pgbench", "-h", folder, "-p", str(PORT + 1), "-S", "-c", clients,
               "-j", "2" if int(clients) > 1 else "1", "-T", str(int(seconds)),
               "--log", f"--log-prefix={log}", f"--sampling-rate={SAMPLED}", "postgres"]
        for _ in range(100):
            if os.path.exists(f"{folder}/.s.PGSQL.{PORT + 1}"):
                break
            time.sleep(0.05)
        text = output(*ask)
        print(json.dumps({"rate": float(re.search(r"tps = ([0-9.]+)", text).group(1)), "p99_ms": logged_p99(log)}))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def repeat(seconds, *command):
    """Runs per second of a command that ends."""
    begin, runs = time.monotonic(), 0
    while time.monotonic() < begin + seconds:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        runs += 1
    print(json.dumps({"rate": runs / (time.monotonic() - begin)}))


def zstd(folder, seconds, name):
    """zstd:THREADS"""
    source = os.path.join(folder, "source")
    repeat(seconds, "zstd", "-q", "-f", "-9", f"-T{name.split(':')[1]}", source, "-o", source + ".zst")


def dedup(folder, seconds, name):
    """dedup:STEP, of examples/dedup"""
    source = os.path.join(folder, "source")
    repeat(seconds, os.path.join(folder, f"dedup-{name.split(':')[1]}"), "-t", "2", source, source + ".ddp")


def sysbench(folder, seconds, name):
    """sysbench:TEST:THREADS"""
    _, test, threads = name.split(":")
    text = output("sysbench", test, f"--threads={threads}", f"--time={int(seconds)}", "--percentile=99", "run")
    events = float(re.search(r"total number of events:\s+(\d+)", text).group(1))
    took = float(re.search(r"total time:\s+([0-9.]+)s", text).group(1))
    p99 = float(re.search(r"99th percentile:\s+([0-9.]+)", text).group(1))
    print(json.dumps({"rate": events / took, "p99_ms": p99}))


if __name__ == "__main__":
    folder, seconds, name = sys.argv[1:]
    globals()[name.split(":")[0]](folder, float(seconds), name)
