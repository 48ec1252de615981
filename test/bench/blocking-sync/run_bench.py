# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One mutex against the best of the others, cell by cell.

A cell is a number of threads, a time in the lock, a time out of it, and with or
without a thread that only computes. Which peer is best in a cell is told by the odd
repetitions and held against us in the even ones: the best of many is best by luck
too, and by the same runs an identical lock would seem 4 % slower than it.
"""

import itertools
import math
import os
import statistics
import subprocess

import bench
import measure

SENTENCE = "vf_mutex against glibc, nsync, Abseil, std::atomic::wait and Concurrency Kit."
ALONE = False

OURS = "vf-mutex"
# name -> Debian package, further flags and C files
PEERS = {
    "pthread": (None, []),
    "pthread-adaptive": (None, []),
    "pthread-spin": (None, []),
    "atomic-wait": (None, []),
    "nsync": ("libnsync-dev", ["-lnsync_cpp", "-lnsync"]),
    "abseil": ("libabsl-dev", ["-labsl_synchronization"]),
    "ck-ticket": ("libck-dev", ["ck.c"]),
    "ck-mcs": ("libck-dev", ["ck.c"]),
}
# A run that does not end is a lock that hangs.
TIMEOUT_S = 60


def numbers(text):
    return [int(n) for n in text.split(",")]


def options(parser):
    parser.add_argument("--threads", type=numbers, default=[1, 2, 4, 8, 16, 32], metavar="N,...")
    parser.add_argument("--sections", type=numbers, default=[0, 100, 1000, 10000], metavar="NS,...")
    parser.add_argument("--think", type=numbers, default=[0, 1000], metavar="NS,...")
    parser.add_argument("--hogs", type=numbers, default=[0, 1], metavar="N,...")
    parser.add_argument("--ms", type=int, default=60, help="length of a run [%(default)s]")
    parser.add_argument("--reps", type=int, default=20, metavar="N", help="runs a cell and lock [%(default)s]")
    parser.add_argument("--peers", default=",".join(PEERS), metavar="NAME,...")


def install(packages):
    missing = [
        p for p in packages
        if subprocess.run(["dpkg-query", "-W", p], capture_output=True).returncode
    ]
    if not missing:
        return
    print(f"installing {' '.join(missing)}", flush=True)
    done = subprocess.run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing],
        capture_output=True, text=True,
    )
    if done.returncode:
        raise bench.Broken(f"missing {' '.join(missing)}: install them, or leave out their "
                           f"locks with --peers: {done.stderr.strip()[-200:]}")


def compile_locks(tree, names, out):
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(out, exist_ok=True)
    programs = {}
    for name in names:
        programs[name] = os.path.join(out, name)
        flags = tree.link_flags() if name == OURS else list(PEERS[name][1])
        for i, flag in enumerate(flags):
            if flag.endswith(".c"):
                flags[i] = f"{programs[name]}.o"
                bench.build([tree.tool("clang"), "-O2", "-c", os.path.join(here, "locks", flag),
                             "-o", flags[i]])
        bench.build([
            tree.tool("clang++"), "-std=c++20", "-O2", "-pthread", "-I", here,
            "-I", os.path.join(tree.source, "runtime", "include"),
            f'-DLOCK="locks/{name}.h"', os.path.join(here, "harness.cpp"),
            "-o", programs[name], *flags,
        ])
    return programs


def calibrate(program):
    """Steps of work a nanosecond, once for all: a section is the same work in
    every run, whatever the clock says meanwhile."""
    return measure.run([program], TIMEOUT_S).values["steps_per_ns"]


def once(program, cell, milliseconds, steps_per_ns):
    threads, section, think, hogs = cell
    arguments = (threads, round(section * steps_per_ns), round(think * steps_per_ns), hogs,
                 milliseconds)
    one = measure.run([program, *map(str, arguments)], TIMEOUT_S)
    if one.status != "ok" or "ops_per_s" not in one.values:
        raise bench.Broken(f"{program} {cell}: {one.status} {one.output}{one.errors}")
    return one


def median(runs, key):
    return statistics.median(r.values[key] for r in runs)


def judge(runs, peers):
    """Throughput and CPU per operation against the best peer of each."""
    odd = {name: each[0::2] for name, each in runs.items()}
    even = {name: each[1::2] or each for name, each in runs.items()}
    fastest = max(peers, key=lambda p: median(odd[p], "ops_per_s"))
    thriftiest = min(peers, key=lambda p: median(odd[p], "cpu_ns_per_op"))

    def ratio(key, over, under):
        pairs = zip(even[over], even[under])
        return statistics.median(
            a.values[key] / max(b.values[key], 1e-9) for a, b in pairs
        )

    return {
        "fastest": fastest,
        "throughput": ratio("ops_per_s", OURS, fastest),
        "thriftiest": thriftiest,
        "cpu": ratio("cpu_ns_per_op", OURS, thriftiest),
        "p99_wait_us": median(even[OURS], "p99_wait_ns") / 1000,
        "jain": median(even[OURS], "jain"),
        "best_p99_wait_us": median(even[fastest], "p99_wait_ns") / 1000,
        "best_jain": median(even[fastest], "jain"),
    }


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def main(tree, options, out):
    peers = options.peers.split(",")
    unknown = set(peers) - set(PEERS)
    if unknown:
        raise bench.Usage(f"no peer '{unknown.pop()}', there are: {', '.join(PEERS)}")
    if options.smoke:
        peers, options.reps, options.ms = ["pthread", "atomic-wait"], 2, 5
        options.threads, options.sections = [1, 4], [0]
        options.think, options.hogs = [0], [0]
    install(sorted({PEERS[p][0] for p in peers} - {None}))
    programs = compile_locks(tree, [OURS, *peers], os.path.join(out, "blocking-sync"))
    steps = calibrate(programs[OURS])
    report = bench.Report("blocking-sync", tree, out, {
        k: v for k, v in vars(options).items() if k != "out"
    })
    progress = measure.Progress("blocking-sync")
    cells = list(itertools.product(
        options.threads, options.sections, options.think, options.hogs
    ))
    rows, verdicts = [], []
    for number, cell in enumerate(cells):
        progress.at(f"cell {number + 1} of {len(cells)}")
        runs = measure.in_turn(
            {n: (lambda p=p: once(p, cell, options.ms, steps)) for n, p in programs.items()},
            options.reps,
        )
        named = dict(zip(("threads", "section_ns", "think_ns", "hogs"), cell))
        report.samples(runs, **named)
        verdict = judge(runs, peers)
        report.summary(**named, **verdict)
        verdicts.append(verdict)
        rows.append([
            f"{cell[0]} threads, {cell[1]} ns in, {cell[2]} out" + (", hog" if cell[3] else ""),
            f"{verdict['throughput']:.2f}", verdict["fastest"],
            f"{verdict['cpu']:.2f}", verdict["thriftiest"],
            f"{verdict['p99_wait_us']:.0f}", f"{verdict['best_p99_wait_us']:.0f}",
            f"{verdict['jain']:.2f}", f"{verdict['best_jain']:.2f}", "",
        ])
    progress.end()
    print(f"{options.reps} runs of {options.ms} ms a lock and cell; throughput and CPU per "
          "operation over those of the best peer of the cell")
    bench.table(["", "throughput", "of", "CPU/op", "of", "p99 us", "its", "Jain", "its", ""], rows)
    if not options.smoke:
        fast = [v["throughput"] for v in verdicts]
        cpu = [v["cpu"] for v in verdicts]
        print(f"throughput: geometric mean {geometric(fast):.3f}, worst cell {min(fast):.2f}; "
              f"CPU per operation: geometric mean {geometric(cpu):.3f}, worst {max(cpu):.2f}")
    report.write()
    return 0
