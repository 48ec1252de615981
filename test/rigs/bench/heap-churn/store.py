# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Redis under load: filled, overwritten, a list that grows and shrinks, emptied, filled with larger values."""

import socket
import subprocess
import threading
import time

import bench

# What it needs changes in tenths of seconds.
EVERY_S = 0.02


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def server(port, folder):
    return ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", folder]


def phases(amount):
    """Clients of the server; amount is operations."""
    n = str(amount)
    yield ["-t", "set", "-n", n, "-r", str(amount // 4), "-d", "1000"]
    yield ["-t", "lpush,lpop", "-n", n, "-d", "100"]
    yield "FLUSHALL"
    yield ["-t", "set", "-n", str(amount // 2), "-r", str(amount // 16), "-d", "4000"]
    yield "FLUSHALL"


class Connection:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.file = self.socket.makefile("rwb")

    def ask(self, *words):
        self.file.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w.encode()) for w in words))
        self.file.flush()
        line = self.file.readline()
        if line.startswith(b"$"):
            return self.file.read(int(line[1:]) + 2).decode()
        return line.decode().strip()


def connect(port):
    for _ in range(200):
        try:
            return Connection(port)
        except OSError:
            time.sleep(0.01)
    raise bench.Broken("redis-server does not answer")


class Load:
    """Drives the server of a port from a thread of its own, and stops it."""

    def __init__(self, port, amount):
        self.port, self.amount = port, amount
        self.needs, self.error = [], None
        self.over = threading.Event()
        self.drive = threading.Thread(target=self.driven, daemon=True)
        self.watch = threading.Thread(target=self.watched, daemon=True)
        self.drive.start()

    def watched(self):
        try:
            connection = connect(self.port)
            while not self.over.wait(EVERY_S):
                about = connection.ask("INFO", "memory")
                self.needs.append(int(about.split("used_memory:")[1].split()[0]))
        except (OSError, IndexError, bench.Broken):
            pass  # The server is gone; the driver says so.

    def driven(self):
        try:
            control = connect(self.port)
            self.watch.start()
            began = time.monotonic()
            try:
                self.load(control)
                self.seconds = time.monotonic() - began
            finally:
                self.over.set()
                self.watch.join()
                control.ask("SHUTDOWN", "NOSAVE")
        except (OSError, subprocess.CalledProcessError, bench.Broken) as error:
            self.error = error

    def load(self, control):
        for phase in phases(self.amount):
            if phase == "FLUSHALL":
                control.ask("FLUSHALL", "ASYNC")
                continue
            command = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(self.port), "-q", "-P", "16", *phase]
            subprocess.run(command, check=True, capture_output=True)

    def ended(self):
        """Once the server is gone: what the load took, and what the server believed to need."""
        self.drive.join()
        if self.error:
            return {"load_failed": str(self.error)}
        return {"load_s": self.seconds, "mean_need": sum(self.needs) / max(len(self.needs), 1)}


def client(port, amount):
    return Load(port, amount).ended
