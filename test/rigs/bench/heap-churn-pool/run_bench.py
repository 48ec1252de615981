# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vf_pool against the regions of others: time for each block, memory, calls that shrink.

Each phase takes blocks and gives them back one by one, where the library can, and then
all. The same program is built for each library; they run in turn.
"""

import os
import statistics
import sys

import bench
import measure

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "heap-churn"))
import watch

SENTENCE = "vf_pool against obstack, APR pools, mimalloc's heaps, jemalloc's arenas and malloc."
ALONE = False

# library -> Debian package, flags
PEERS = {
    "malloc": (None, []),
    "obstack": (None, []),
    "apr": ("libapr1-dev", ["-I/usr/include/apr-1.0", "-D_LARGEFILE64_SOURCE", "-lapr-1"]),
    "mimalloc": ("libmimalloc-dev", ["-lmimalloc"]),
    "jemalloc": ("libjemalloc-dev", ["-ljemalloc"]),
}
OURS = "vf"
# what a phase does -> rounds
PHASES = {"grows": 200, "nodes": 50, "changes": 50}
# As many under strace, which makes each call slow.
TRACED = 10


def options(parser):
    parser.add_argument("--peers", metavar="L,...", help="against these only")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="[%(default)s]")


def build(tree, folder, name, flags):
    program = os.path.join(folder, name)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "phases.c")
    bench.build([tree.tool("clang"), "-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra", f"-DPEER_{name}",
                 source, "-o", program, *flags])
    return program


def main(tree, options, out):
    # What every machine has, when only the workings are tested.
    peers = bench.choice(options.peers or ("malloc,obstack" if options.smoke else None), PEERS, "library")
    repetitions = 1 if options.smoke else options.reps
    if repetitions < 1:
        raise bench.Usage("--reps must be at least 1")
    if not options.smoke:
        bench.install([p for p, _ in (PEERS[n] for n in peers) if p] + ["strace"])
    folder = os.path.join(out, "heap-churn-pool")
    os.makedirs(folder, exist_ok=True)
    include = os.path.join(tree.source, "runtime", "include")
    ours = [f"-I{include}", f"-L{tree.lib}", f"-Wl,-rpath,{tree.lib}", "-lvfrt"]
    programs = {n: build(tree, folder, n, ours if n == OURS else PEERS[n][1]) for n in [*peers, OURS]}
    report = bench.Report("heap-churn-pool", tree, out, {"smoke": options.smoke, "reps": repetitions})
    progress = measure.Progress("heap-churn-pool")
    print(f"{repetitions} runs of each, medians; memory over that of the program before its first phase")
    rows = []
    for phase, rounds in PHASES.items():

        def command(name, rounds=2 if options.smoke else rounds):
            return [programs[name], phase, str(rounds)]

        def once(name):
            one = measure.run(command(name), options.timeout)
            if one.status == "failed":
                raise bench.Broken(f"{phase} with {name}: {one.errors.strip()[-300:]}")
            return one

        runs = measure.in_turn({n: (lambda n=n: once(n)) for n in programs}, repetitions,
                               lambda n: progress.at(f"{phase}, run {n} of {repetitions * len(programs)}"))
        report.samples(runs, phase=phase)
        for name, each in runs.items():
            found = {key: statistics.median(r.values[key] for r in each)
                     for key in ("ns_per_block", "mean_kb", "peak_kb")}
            if not options.smoke:
                found["calls"] = watch.resizes(command(name, TRACED), {}, options.timeout) / TRACED
            report.summary(phase=phase, library=name, **found)
            rows.append([phase if name == peers[0] else "", name, f"{found['ns_per_block']:.1f}",
                         f"{found['mean_kb']:.0f}", f"{found['peak_kb']:.0f}",
                         f"{found['calls']:.1f}" if "calls" in found else "-"])
    progress.end()
    bench.table(["", "", "ns a block", "mean kB", "peak kB", "calls a phase"], rows)
    report.write()
    return 0
