# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of the table: where each comes from, how it runs, and how its speed is told.

Of mimalloc-bench there are not: lean, mathlib, lua, linux and gs, which are compilers or need
downloads of their own and start many processes; security, which measures nothing; SPEC.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Callable, Optional

import bench
import store

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "programs"))
import recipes  # noqa: E402

# Where mimalloc-bench's own build leaves its programs, below --src.
MIMALLOC_BENCH = "mimalloc-bench/out/bench"
# Threads of the programs that have a choice, on any machine: the table is of one size.
THREADS = 4


class NotAtHand(Exception):
    """What a program needs is not there; says what."""


@dataclass
class Place:
    """Where programs are built and run, and how large."""

    tree: bench.Tree
    src: Optional[str]
    folder: str
    smoke: bool

    def below_src(self, path):
        found = os.path.join(self.src or "", path)
        if not self.src or not os.path.exists(found):
            raise NotAtHand(f"--src DIR must have {path}")
        return found


@dataclass
class Ready:
    """A program that can be run again and again."""

    command: list
    folder: str
    feed: str = os.devnull
    environment: dict = field(default_factory=dict)
    # Begins a load on it; what that returns is called when the program has ended.
    client: Optional[Callable] = None


@dataclass
class Row:
    name: str
    ready: Callable[[Place], Ready]
    # Work a second in the output of a program that runs for a fixed time.
    rate: str = ""
    # Among its values, if that is what an allocator makes faster, and not the whole run.
    value: str = ""
    # Its pace is the clock's: no allocator can make it faster.
    paced: bool = False
    # Debian packages.
    packages: tuple = ()
    # Why it runs only if it is named.
    asked: str = ""

    def seconds(self, one):
        """Of a run, for a fixed amount of work; None if that means nothing."""
        if self.paced or one.status != "ok":
            return None
        if self.value:
            return one.values[self.value]
        if self.rate:
            return 1 / float(re.search(self.rate, one.output).group(1))
        return one.values.get("load_s", one.wall)


def workload(name, threads, amount, little, environment=None, **more):
    """One of workloads.c; `little` is enough to see that it works. Its name is WHAT, and OF or a remark."""
    def ready(place):
        program = os.path.join(place.folder, "workloads")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads.c")
        bench.build([place.tree.tool("clang"), "-O2", "-Wall", "-Wextra", "-pthread", source, "-o", program])
        what, *of = name.split()
        return Ready([program, what, str(threads), str(little if place.smoke else amount), *of], place.folder,
                     environment=environment or {})

    return Row(name, ready, **more)


def theirs(name, *words, feed=None, **more):
    """One of mimalloc-bench."""
    def ready(place):
        folder = place.below_src(MIMALLOC_BENCH)
        program = place.below_src(f"{MIMALLOC_BENCH}/{words[0]}")
        given = os.path.join(place.folder, f"{name}.input")
        if feed:
            with open(given, "w") as file:
                file.write(feed)
        return Ready([program, *words[1:]], folder, feed=given if feed else os.devnull)

    return Row(name, ready, **more)


def dedup(place):
    recipe = recipes.RECIPES["dedup"]
    place.below_src(recipe.folder)
    folder = os.path.join(place.folder, "dedup")
    program = recipes.build(place.tree, recipe, place.src, folder, [], [])
    shutil.copy(os.path.join(place.src, recipe.input), os.path.join(folder, "input"))
    return Ready([program, *recipe.arguments.format(threads=THREADS, output="output").split()], folder)


def vips(place):
    """What PARSEC's vips does, by Debian's, on noise."""
    noise, bands, image = (os.path.join(place.folder, n) for n in ("noise.v", "bands.v", "image.v"))
    size = ["480", "360"] if place.smoke else ["3200", "2400"]
    for step in (["gaussnoise", noise, *size, "--mean", "128", "--sigma", "30"],
                 ["bandjoin", f"{noise} {noise} {noise}", bands],
                 ["colourspace", bands, image, "labq", "--source-space", "srgb"]):
        bench.build(["vips", *step])
    os.remove(noise), os.remove(bands)
    return Ready(["vips", "im_benchmark", image, os.path.join(place.folder, "output.v")], place.folder,
                 environment={"VIPS_CONCURRENCY": str(THREADS)})


def redis(place):
    amount = 1600 if place.smoke else 100000
    port = store.free_port()
    return Ready(store.server(port, place.folder), place.folder, client=lambda: store.client(port, amount))


def rocksdb(place):
    database = os.path.join(place.folder, "rocksdb")
    amount = 1000 if place.smoke else 50000
    return Ready(["db_bench", "--benchmarks=fillrandom", f"--num={amount}", f"--db={database}", f"--threads={THREADS}"], place.folder)


def rbstress(place):
    return Ready(["ruby", place.below_src("mimalloc-bench/bench/rbstress/stress_mem.rb"), str(THREADS)], place.folder)


def z3(place):
    return Ready(["z3", "-smt2", place.below_src("mimalloc-bench/bench/z3/test1.smt2")], place.folder)


# 10^17+3 times 3*10^17+11: half a second. The one of mimalloc-bench takes seven.
CFRAC = "30000000000000002000000000000000033"
# Bodies and, a line each, barnes' other parameters, as mimalloc-bench has them.
BARNES = "\n32768\n123\n\n0.025\n0.05\n1.0\n2.0\n5.0\n0.075\n0.25\n1\n"

ROWS = {row.name: row for row in [
    workload("listing-7.1", 16, 20000, 10),
    workload("listing-7.2", 16, 50, 1),
    workload("listing-8.8", 16, 100, 1),
    workload("figure-7.2a", 2, 10, 0.2, paced=True),
    workload("figure-7.2b", 16, 4, 0.2, paced=True),
    workload("figure-7.3", 1, 6, 2, paced=True),
    workload("figure-7.3 x4", 4, 6, 2, paced=True),
    workload("small", 2, 4, 0.2, paced=True),
    workload("small floor-128K", 2, 4, 0.2, paced=True, environment={"VF_MALLOC_FLOOR": "131072"}),
    workload("replace 100", 2, 2e7, 1e4, value="cpu_each"),
    workload("replace 1000", 2, 2e7, 1e4, value="cpu_each"),
    workload("replace 20000", 2, 2e6, 1e4, value="cpu_each"),
    workload("replace 200000", 2, 5e5, 1e3, value="cpu_each"),
    workload("fork", 1, 200, 2, value="cpu_each"),
    workload("start true", 1, 200, 2, value="cpu_each"),
    workload("start sh", 1, 200, 2, value="cpu_each"),
    Row("dedup", dedup),
    Row("vips", vips, packages=("libvips-tools",)),
    Row("redis", redis, packages=("redis-server", "redis-tools")),
    Row("rocksdb", rocksdb, packages=("rocksdb-tools",)),
    Row("z3", z3, packages=("z3",)),
    Row("rbstress", rbstress, packages=("ruby",)),
    theirs("cfrac", "cfrac", CFRAC),
    theirs("espresso", "espresso", "../../bench/espresso/largest.espresso"),
    theirs("barnes", "barnes", feed=BARNES),
    theirs("larson", "larson", "1", "8", "1000", "5000", "100", "4141", str(THREADS), rate=r"Throughput = +(\d+)"),
    theirs("larson-sized", "larson-sized", "1", "8", "1000", "5000", "100", "4141", str(THREADS), rate=r"Throughput = +(\d+)"),
    theirs("xmalloc-test", "xmalloc-test", "-w", str(THREADS), "-t", "1", "-s", "64", rate=r"free/sec: ([\d.]+)"),
    theirs("mstress", "mstress", str(THREADS), "50", "25"),
    theirs("mleak", "mleak", "5"),
    theirs("rptest", "rptest", str(THREADS), "0", "1", "2", "500", "1000", "100", "8", "16000",
           rate=r"\.(\d+) memory ops", asked="sleeps 15 of its 16 s"),
    theirs("alloc-test", "alloc-test", "2"),
    theirs("sh6bench", "sh6bench", str(THREADS)),
    theirs("sh8bench", "sh8bench", str(THREADS)),
    theirs("cache-scratch", "cache-scratch", str(THREADS), "1000", "1", "1000000", str(THREADS)),
    theirs("cache-thrash", "cache-thrash", str(THREADS), "1000", "1", "1000000", str(THREADS)),
    theirs("malloc-large", "malloc-large"),
    theirs("glibc-simple", "glibc-simple"),
    theirs("glibc-thread", "glibc-thread", str(THREADS), rate=r"([\d.]+) iterations"),
]}


def at_hand(names, place, wanted):
    """Makes the programs ready; returns them and why others are not. `wanted` are those
    that the user named: one of them missing is an error."""
    ready, absent = {}, {}
    for name in names:
        try:
            if ROWS[name].asked and not wanted:
                raise NotAtHand(f"{ROWS[name].asked}: only if --programs names it")
            if not place.smoke:
                bench.install(ROWS[name].packages)
            elif any(subprocess.run(["dpkg-query", "-W", p], capture_output=True).returncode for p in ROWS[name].packages):
                raise NotAtHand(f"packages {' '.join(ROWS[name].packages)}")
            ready[name] = ROWS[name].ready(place)
        except NotAtHand as error:
            if wanted:
                raise bench.Usage(f"no {name}: {error}")
            absent[name] = str(error)
    return ready, absent
