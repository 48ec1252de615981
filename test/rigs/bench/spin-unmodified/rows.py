# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs that `./dev bench spin-unmodified` runs. Each prepares what it needs, or raises NotRun with the reason, and
returns what it does in a second."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
for beside in ("../../suites", "../openmp", "../programs"):
    sys.path.append(os.path.join(HERE, beside))
import bring  # pylint: disable=wrong-import-position
import programs  # pylint: disable=wrong-import-position
import recipes  # pylint: disable=wrong-import-position

RATE = re.compile(r"rate: ([\d.]+)")
# Seconds after which a run has hung, and after which a server does not start.
PATIENCE, START = 120, 30
CLASSES = 40  # that javac compiles in a run
FRAMES = 30  # of volrend


def call(words, environment=None, **more):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE, **more)
    if done.returncode:
        raise bench.Broken(f"{' '.join(words)} ended with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return done.stdout


def unpacked(out, package, program):
    """Returns the folder below which the program of Debian's package is: / where it is installed."""
    if os.path.exists(os.path.join("/", program)):
        return "/"
    return bring.Debian(out).packages(os.path.join(out, package), [package])


class Program:
    """Prints how often it did what it does, in a second."""

    def __init__(self, *words):
        self.words = words

    def run(self, prefix, environment):
        return float(RATE.search(call([*prefix, *self.words], environment))[1])


class Timed:
    """Does so much and ends."""

    def __init__(self, words, amount=1, environment=None, folder=None):
        self.words, self.amount, self.environment, self.folder = words, amount, environment or {}, folder

    def run(self, prefix, environment):
        began = time.monotonic()
        call([*prefix, *self.words], {**environment, **self.environment}, cwd=self.folder)
        return self.amount / (time.monotonic() - began)


class Parts:
    """Prints microseconds for a unit of work, as the programs of `./dev bench openmp` do."""

    def __init__(self, words, environment):
        self.words, self.environment = words, environment

    def run(self, prefix, environment):
        said = json.loads(call([*prefix, *self.words], {**environment, **self.environment}))
        return 1e6 / list(said["parts"].values())[0]["us"]


class Server:
    """Starts for each run, and is asked from outside."""

    def __init__(self, seconds):
        self.seconds = seconds

    def run(self, prefix, environment):
        with tempfile.TemporaryDirectory(prefix="vf-") as folder, socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
            free.close()
            self.prepare(folder)
            server = subprocess.Popen([*prefix, *self.command(folder, port)], env={**environment, **self.environment()},
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                until = time.monotonic() + START
                while not self.is_up(folder, port):
                    if server.poll() is not None or time.monotonic() > until:
                        raise bench.Broken(f"{self.command(folder, port)[0]} does not start")
                    time.sleep(0.05)
                return self.ask(folder, port)
            finally:
                server.terminate()
                server.wait()

    def prepare(self, folder):
        pass

    def environment(self):
        return {}

    def is_up(self, folder, port):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", int(port)), timeout=1).close()
            return True
        return False


class Redis(Server):
    """Debian's redis-server with four I/O threads: GET requests in a second."""

    def command(self, folder, port):
        return ["redis-server", "--port", port, "--io-threads", "4", "--io-threads-do-reads", "yes", "--save", "",
                "--appendonly", "no", "--dir", folder]

    def ask(self, folder, port):
        said = call(["redis-benchmark", "-p", port, "-t", "get", "-n", str(max(1000, int(4000 * self.seconds))), "-c", "50", "-q"])
        return float(re.findall(r"GET: ([\d.]+) requests per second", said)[-1])


class Memcached(Server):
    def __init__(self, seconds, out):
        super().__init__(seconds)
        self.root = unpacked(out, "memcached", "usr/bin/memcached")
        self.load = os.path.join(out, "load")
        bench.build(["gcc", "-O2", os.path.join(HERE, "..", "servers", "load.c"), "-o", self.load])

    def environment(self):
        return {"LD_LIBRARY_PATH": os.path.join(self.root, "usr/lib/x86_64-linux-gnu")}

    def command(self, folder, port):
        return [os.path.join(self.root, "usr/bin/memcached"), "-u", "root", "-l", "127.0.0.1", "-p", port, "-t", "4", "-m", "64"]

    def ask(self, folder, port):
        return json.loads(call([self.load, port, "16", str(int(self.seconds * 1000))]))["rps"]


class PostgreSQL(Server):
    """Reads of pgbench by eight clients, from a database of 100,000 rows."""

    def __init__(self, seconds, out):
        super().__init__(seconds)
        root = unpacked(out, "postgresql-15", "usr/lib/postgresql/15/bin/postgres")
        self.user, self.bin = bring.not_as_root(), os.path.join(root, "usr/lib/postgresql/15/bin")
        self.libraries = os.path.join(root, "usr/lib/x86_64-linux-gnu")
        # Programs and tables are looked for beside where they would be installed.
        share = os.path.join(root, "usr/share/postgresql/15")
        self.data = os.path.join(out, "postgresql-data")
        with bring.Once(self.data, "1") as todo:
            if todo:
                made = os.path.join(self.data, "data")
                bring.call(self.words("initdb", "-D", made, "-U", "postgres", "-A", "trust", "-N", "-L", share), "initdb",
                           env={**os.environ, **self.environment()})
                self.is_new = True
                Server.run(self, [], dict(os.environ))
        self.is_new = False

    def environment(self):
        return {"LC_ALL": "C", "LD_LIBRARY_PATH": self.libraries}

    def words(self, program, *more):
        return [*self.user, os.path.join(self.bin, program), *more]

    def command(self, folder, port):
        return self.words("postgres", "-D", os.path.join(self.data, "data"), "-k", folder, "-p", port, "-h", "", "-c", "fsync=off",
                          "-c", "autovacuum=off")

    def is_up(self, folder, port):
        return os.path.exists(os.path.join(folder, f".s.PGSQL.{port}"))

    def ask(self, folder, port):
        more = ["-i", "-q"] if self.is_new else ["-n", "-S", "-c", "8", "-j", "2", "-T", str(max(1, round(self.seconds)))]
        for _ in range(50):  # It is there before it answers.
            with contextlib.suppress(bench.Broken):
                said = call(self.words("pgbench", "-h", folder, "-p", port, "-U", "postgres", *more, "postgres"),
                            {**os.environ, **self.environment()})
                return 1 if self.is_new else float(re.search(r"tps = ([0-9.]+)", said)[1])
            time.sleep(0.1)
        raise bench.Broken("pgbench has no answer")


# Of spins.c: kinds and numbers of threads.
KINDS = (("barrier", 4), ("barrier", 8), ("ticket", 4), ("exchange", 4), ("turns", 2), ("pipes", 2), ("computes", 4),
         ("computes", 200), ("sleeps", 200))
SPINS = (*(f"{kind} {threads}" for kind, threads in KINDS), "static barrier 4")


def _spins(out, seconds, _):
    spins, static = os.path.join(out, "spins"), os.path.join(out, "spins-static")
    for path, more in ((spins, []), (static, ["-static"])):
        bench.build(["gcc", "-O2", "-pthread", *more, os.path.join(HERE, "spins.c"), "-o", path])
    found = {f"{kind} {threads}": Program(spins, kind, str(threads), str(seconds)) for kind, threads in KINDS}
    return {**found, "static barrier 4": Program(static, "barrier", "4", str(seconds))}


def _go(out, seconds, _):
    bring.need("go")
    program = os.path.join(out, "barrier-go")
    bench.build(["go", "build", "-o", program, os.path.join(HERE, "barrier.go")])
    return {"Go barrier 4": Program(program, "4", str(seconds))}


def _java(out, seconds, _):
    bring.need("java", "javac")
    bench.build(["javac", "-d", out, os.path.join(HERE, "Barrier.java")])
    sources = os.path.join(out, "classes")
    os.makedirs(sources, exist_ok=True)
    names = []
    for i in range(CLASSES):
        names.append(os.path.join(sources, f"C{i}.java"))
        with open(names[-1], "w") as file:
            methods = "\n".join(f"  static <T extends Comparable<T>> T m{k}(java.util.List<T> l) {{ return l.stream().filter(x -> x != null)"
                                f".max((a, b) -> a.compareTo(b)).orElse(null); }}" for k in range(30))
            file.write(f"class C{i} {{\n{methods}\n}}\n")
    return {"Java barrier 4": Program("java", "-cp", out, "Barrier", "4", str(seconds)),
            "javac": Timed(["javac", "-d", os.path.join(out, "compiled"), *names], CLASSES)}


def _rust(out, seconds, _):
    bring.need("cargo")
    folder = os.path.join(out, "crate")
    shutil.copytree(os.path.join(HERE, "crate"), folder, dirs_exist_ok=True)
    bench.build(["cargo", "build", "-q", "--release", "--manifest-path", os.path.join(folder, "Cargo.toml")])
    return {"Rust spin 8": Program(os.path.join(folder, "target", "release", "lock"), "8", str(seconds))}


def _redis(out, seconds, _):
    bring.need("redis-server", "redis-benchmark")
    return {"Redis with 4 I/O threads": Redis(seconds)}


def _ffmpeg(out, seconds, _):
    root = unpacked(out, "ffmpeg", "usr/bin/ffmpeg")
    libraries = os.path.join(root, "usr/lib/x86_64-linux-gnu")
    paths = ":".join([libraries, *(os.path.join(libraries, kind) for kind in ("pulseaudio", "blas", "lapack"))])
    frames = max(10, int(100 * seconds))
    return {"ffmpeg": Timed([os.path.join(root, "usr/bin/ffmpeg"), "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30",
                             "-frames:v", str(frames), "-c:v", "libx264", "-threads", "4", "-f", "null", "-"], frames,
                            {"LD_LIBRARY_PATH": paths})}


def _openmp(name, threads, title):
    def made(out, seconds, tree):
        words, environment = programs.made(name, tree, out)
        return {title: Parts([*words, str(int(seconds * 500)), str(threads)], environment)}
    return made


def _volrend(source):
    def made(out, seconds, tree):
        if not source:
            raise bring.NotRun("needs --src")
        recipe = recipes.RECIPES["volrend"]
        program = recipes.build(tree, recipe, source, os.path.join(out, "volrend"), [], [], "gcc")
        folder = os.path.join(out, "volrend-run")
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(source, recipe.input), folder)
        return {"volrend 8": Timed([program, "8", "head-scaleddown2", str(FRAMES)], FRAMES, folder=folder)}
    return made


def makers(source):
    """Groups of programs that are made together: name -> (names of the programs, function)."""
    return {
        **{name: _spins for name in SPINS},
        "Go barrier 4": _go, "Java barrier 4": _java, "javac": _java, "Rust spin 8": _rust, "Redis with 4 I/O threads": _redis,
        "memcached": lambda out, seconds, _: {"memcached": Memcached(seconds, out)},
        "PostgreSQL": lambda out, seconds, _: {"PostgreSQL": PostgreSQL(seconds, out)},
        "ffmpeg": _ffmpeg, "libgomp 4": _openmp("gcc", 4, "libgomp 4"), "numpy 4": _openmp("numpy", 4, "numpy 4"),
        "Debian's OpenBLAS 4": _openmp("openblas", 4, "Debian's OpenBLAS 4"), "volrend 8": _volrend(source),
    }
