# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Allocators on programs whose heap changes its size: shootdowns, memory, time.

Each is preloaded; they run in turn. A peer beats ours on a program if it has 5 % fewer
shootdowns and 5 % less memory on average.
"""

import glob
import os
import shutil
import statistics

import bench
import measure
import watch

SENTENCE = "libvfmalloc against glibc, jemalloc, mimalloc and tcmalloc: shootdowns, memory, time."
ALONE = False

OURS = "vfmalloc"
# name -> Debian package, library below /usr/lib/*-linux-gnu
PEERS = {
    "glibc": (None, None),
    "jemalloc": ("libjemalloc2", "libjemalloc.so.2"),
    "mimalloc": ("libmimalloc2.0", "libmimalloc.so.2.0"),
    "tcmalloc": ("libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"),
}
# program -> threads, amount, amount when only its workings are tested
PROGRAMS = {
    "listing-7.1": (16, 1000, 10),
    "listing-7.2": (16, 50, 1),
    "listing-8.8": (16, 100, 1),
    "figure-7.2a": (2, 10, 0.2),
    "figure-7.2b": (16, 10, 0.2),
    "figure-7.3": (1, 10, 2),
    "figure-7.3 x4": (4, 10, 2),
}
# Shootdowns fewer than that are chance: the rest of the machine has some.
FEW = 50
BEATS = 0.95


def options(parser):
    parser.add_argument("--programs", metavar="P,...", help="only these")
    parser.add_argument("--peers", metavar="A,...", help="against these only")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="[%(default)s]")


def library(name):
    found = glob.glob(f"/usr/lib/*-linux-gnu/{name}")
    if not found:
        raise bench.Broken(f"there is no {name} in /usr/lib")
    return found[0]


def summary(runs):
    def of(key):
        return statistics.median(r.values[key] for r in runs)

    need = of("mean_need")
    return {"shootdowns": of("shootdowns"), "mean_resident": of("mean_resident"),
            "peak_resident": of("peak_resident"),
            "over_need": of("mean_resident") / need if need else None,
            "wall_s": statistics.median(r.wall for r in runs),
            "cpu_s": statistics.median(r.cpu for r in runs)}


def beats(peer, ours):
    return (max(peer["shootdowns"], FEW) < BEATS * max(ours["shootdowns"], FEW)
            and peer["mean_resident"] < BEATS * ours["mean_resident"])


def main(tree, options, out):
    names = bench.choice(options.programs, PROGRAMS, "program")
    peers = bench.choice(options.peers, PEERS, "allocator")
    repetitions = 1 if options.smoke else options.reps
    if repetitions < 1:
        raise bench.Usage("--reps must be at least 1")
    ours = os.path.join(tree.lib, "libvfmalloc.so")
    if not os.path.exists(ours):
        raise bench.Broken("there is no libvfmalloc.so: install libjemalloc-dev and libbsd-dev, and build")
    if not options.smoke:
        bench.install([p for p, _ in (PEERS[n] for n in peers) if p] + ["strace"])
    else:
        peers = ["glibc"]
    environments = {n: {"LD_PRELOAD": library(PEERS[n][1])} if PEERS[n][1] else {} for n in peers}
    environments[OURS] = {"LD_PRELOAD": ours}
    folder = os.path.join(out, "heap-churn")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "workloads")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads.c")
    bench.build([tree.tool("clang"), "-O2", "-Wall", "-Wextra", "-pthread", source, "-o", program])
    report = bench.Report("heap-churn", tree, out, {"smoke": options.smoke, "reps": repetitions})
    progress = measure.Progress("heap-churn")
    print(f"{repetitions} runs of each, medians; shootdowns without those of an idle machine; "
          "calls are those that can\ninterrupt other CPUs, from a run under strace")
    rows, beaten = [], []
    for name in names:
        threads, amount, little = PROGRAMS[name]
        command = [program, name.split()[0], str(threads), str(little if options.smoke else amount)]

        def once(environment):
            one = watch.run(command, options.timeout, environment)
            if one.status == "failed":
                raise bench.Broken(f"{name} with {environment}: {one.errors.strip()[-300:]}")
            return one

        runs = measure.in_turn(
            {n: (lambda e=e: once(e)) for n, e in environments.items()}, repetitions,
            lambda n: progress.at(f"{name}, run {n} of {repetitions * len(environments)}"))
        report.samples(runs, program=name, threads=threads)
        found = {n: summary(each) for n, each in runs.items()}
        for n, each in found.items():
            if shutil.which("strace") and not options.smoke:
                each["calls"] = watch.resizes(command, environments[n], options.timeout)
            report.summary(program=name, threads=threads, allocator=n, **each)
            rows.append([name if n == peers[0] else "", n, f"{each['shootdowns']:.0f}",
                         str(each.get("calls", "-")), f"{each['mean_resident'] / 1e6:.1f}",
                         f"{each['peak_resident'] / 1e6:.1f}",
                         f"{each['over_need']:.2f}" if each["over_need"] else "-",
                         f"{each['wall_s']:.2f}", f"{each['cpu_s']:.2f}", ""])
            if n != OURS and beats(each, found[OURS]):
                beaten.append(f"{name}: {n}")
    progress.end()
    bench.table(["", "", "shootdowns", "calls", "mean MB", "peak MB", "of need", "s", "CPU s", ""], rows)
    if not options.smoke:
        print(f"beaten in shootdowns and mean memory both: {', '.join(beaten) or 'nowhere'}")
    report.write()
    return 0
