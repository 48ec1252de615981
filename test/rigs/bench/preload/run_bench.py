# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One program that waits in each of libc's ways, without and with libvfpthread.

Ratios are libc / preload: above 1 means that the preload is faster or needs less
CPU. Both run the same number of rounds, found with libc.
"""

import os

import bench
import conditions
import measure

SENTENCE = "Time and CPU of libc's waits without and with LD_PRELOAD=libvfpthread.so."
ALONE = False

PRIMITIVES = ("own", "mutex", "cond", "broadcast", "rwlock", "sem", "barrier")
TIMES = (1, 2, 4)
# Some thirty time slices.
TARGET_S = 0.1
MOST_ROUNDS = 10_000_000
# A hundred times that: what takes longer is a hang, not slow.
TIMEOUT_S = 10


def options(parser):
    parser.add_argument("--reps", type=int, default=11, metavar="N", help="pairs [%(default)s]")
    parser.add_argument("--primitives", metavar="P,...", help="only these")
    parser.add_argument("--times", metavar="T,...", help="only these threads per CPU [1,2,4]")
    parser.add_argument("--hogs", metavar="N,...", default="0", help="threads that compute beside it [%(default)s]")


def once(program, what, threads, rounds, environment):
    one = measure.run([program, what, str(threads), str(rounds)], TIMEOUT_S, environment)
    if one.status == "failed":
        raise bench.Broken(f"{what} with {threads} threads: {one.errors.strip()}")
    return one


def calibrate(program, what, threads):
    rounds = 10
    while True:
        one = once(program, what, threads, rounds, None)
        took = one.values["ns"] / 1e9 if one.status == "ok" else TIMEOUT_S
        if took >= TARGET_S / 3 or rounds >= MOST_ROUNDS:
            return max(1, min(int(rounds * TARGET_S / took), MOST_ROUNDS))
        rounds = min(rounds * 4, MOST_ROUNDS)


def figure(one, key):
    """Of one round, in us. A run that was killed took longer."""
    if one.status == "timeout":
        return measure.Figure(TIMEOUT_S * 1e6, ">")
    return measure.Figure(one.values[key] / one.values["rounds"] / 1e3)


def cell_row(name, threads, runs):
    row = [name, threads]
    for key in ("ns", "cpu_ns"):
        for variant in runs:
            each = measure.median_figure(figure(r, key) for r in runs[variant])
            row.append(each.text("{:.2f}"))
        ratios = measure.pair_ratios(runs["libc"], runs["preload"], lambda r: figure(r, key))
        ends = measure.spread([f.value for f in ratios])
        row += [measure.median_figure(ratios).text("{:.2f}"),
                f"{ends['q1']:.2f}..{ends['q3']:.2f}"]
    return row


HEADER = ["", "threads", "libc us", "preload us", "ratio", "quartiles",
          "libc CPU us", "preload CPU us", "ratio", "quartiles"]


def main(tree, options, out):
    what = bench.choice(options.primitives, PRIMITIVES, "primitive")
    times = [int(t) for t in bench.choice(options.times, [str(t) for t in TIMES], "threads per CPU")]
    all_hogs = [int(h) for h in bench.choice(options.hogs, [str(n) for n in range(65)], "number of hogs")]
    repetitions = 1 if options.smoke else options.reps
    if repetitions < 1:
        raise bench.Usage("--reps must be at least 1")
    library = os.path.join(tree.lib, "libvfpthread.so")
    if not os.path.exists(library):
        raise bench.Broken("there is no libvfpthread.so: it is for x86-64")
    folder = os.path.join(out, "preload")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "workloads")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads.c")
    bench.build([tree.tool("clang"), "-O2", "-pthread", source, "-o", program])
    report = bench.Report("preload", tree, out, {
        "smoke": options.smoke, "reps": repetitions, "target_s": TARGET_S, "timeout_s": TIMEOUT_S,
    })
    progress = measure.Progress("preload")
    rows = []
    for name in what:
        for time in times[:1] if options.smoke else times:
            threads = max(2, time * bench.cpus() // 2 * 2)
            rounds = 10 if options.smoke else calibrate(program, name, threads)
            for hogs in all_hogs:
                title = f"{name} {time}x" + (f", {hogs} hogs" if hogs else "")
                variants = {
                    "libc": lambda: once(program, name, threads, rounds, None),
                    "preload": lambda: once(program, name, threads, rounds, {"LD_PRELOAD": library}),
                }
                with conditions.hogs(hogs):
                    runs = measure.in_turn(variants, repetitions,
                                           lambda n: progress.at(f"{title}, run {n} of {2 * repetitions}"))
                row = cell_row(title, threads, runs)
                rows.append(row)
                report.samples(runs, primitive=name, times=time, threads=threads, hogs=hogs)
                report.summary(primitive=name, times=time, threads=threads, hogs=hogs,
                               **dict(zip(("wall_ratio", "cpu_ratio"), (row[4], row[8]))))
    progress.end()
    print(f"{repetitions} pairs, medians, for each thread's round; ratios are libc / preload")
    bench.table(HEADER, rows)
    report.write()
    return 0
