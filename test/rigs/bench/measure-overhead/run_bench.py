# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What vfriendly measure costs the program, beside perf record -g and bpftrace doing the same.

Each program runs in turn as it is and under each collector. What counts is the program's own CPU
and wall time, from a process between it and the collector; what the collector does after the
program's end is in the last column only. vfriendly's own figure stands beside the measured one.
"""

import json
import os
import re
import shutil
import subprocess
import time

import bench
import measure

SENTENCE = "The overhead of vfriendly measure for a program, beside perf record -g and bpftrace."
ALONE = False  # It needs root, and compares with tools that may be missing.

BOUND = 1.03
COLLECTORS = ("vfriendly", "perf", "bpftrace")
# Sizes for 2 to 4 s on 2 CPUs, and for a smoke test. Redis answers 2600 requests a second there, as its threads spin.
PROGRAMS = {"pingpong": (400_000, 2000), "churn": (4000, 20), "compute": (800, 5), "redis": (8000, 200)}
PORT = 17390
TIMEOUT_S = 60
# The names of threads: bpftrace sees no process ids of a program that it did not start itself.
THREADS = {"redis": ("redis-server", "io_thd_1", "io_thd_2", "io_thd_3", "bio_close_file", "bio_aof", "bio_lazy_free")}


def options(parser):
    parser.add_argument("--programs", metavar="P,...", help=f"of {', '.join(PROGRAMS)} [all but redis]")
    parser.add_argument("--command", metavar="'CMD'", help="this program instead")
    parser.add_argument("--collectors", metavar="C,...", help=f"of {', '.join(COLLECTORS)} [those that are installed]")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="pairs [%(default)s]")
    parser.add_argument("--size", type=float, default=1.0, metavar="X", help="times the usual work [%(default)s]")


def script(names):
    """Counts by stack what vfriendly measure looks at, and samples at its rate."""
    mine = "/" + " || ".join(f'comm == "{name}"' for name in names) + "/"
    return (f"tracepoint:sched:sched_switch {mine} {{ @block[ustack] = count(); }}"
            f"tracepoint:sched:sched_waking {mine} {{ @wake[ustack] = count(); }}"
            f"tracepoint:tlb:tlb_flush {mine} {{ @flush[ustack] = count(); }}"
            f"software:page-faults:1 {mine} {{ @fault[ustack] = count(); }}"
            f"profile:hz:499 {mine} {{ @cpu[ustack] = count(); }}")


def prefix(tree, collector, out, names):
    """Returns the words before the command."""
    return {
        "none": [],
        "vfriendly": [os.path.join(tree.build, "bin", "vfriendly"), "measure", "-q", "--"],
        "perf": ["perf", "record", "-q", "-g", "-o", os.path.join(out, "perf.data"), "--"],
        "bpftrace": ["bpftrace", "-o", os.path.join(out, "bpftrace.txt"), "-e", script(names), "-c"],
    }[collector]


def once(tree, collector, command, out, name, requests):
    took = os.path.join(out, "took.json")
    if os.path.exists(took):
        os.remove(took)
    words = [os.path.join(out, "timed"), took, *command]
    names = THREADS.get(name, (os.path.basename(command[0])[:15],))
    # bpftrace takes the command as one word.
    whole = [*prefix(tree, collector, out, names), *([" ".join(words)] if collector == "bpftrace" else words)]
    one = served(whole, requests) if requests else measure.run(whole, TIMEOUT_S)
    try:
        with open(took) as file:
            own = json.load(file)
        if own.pop("status"):
            raise ValueError
    except (OSError, ValueError):
        raise bench.Broken(f"{' '.join(whole)}: {one.status}\n{(one.output + one.errors).strip()[-600:]}")
    one.values.update({f"program_{key}": value for key, value in own.items()})
    if requests:  # The server's wall time has its start; the load's is what its clients see.
        one.values["program_wall_s"] = one.values["load_s"]
    said = re.search(r"overhead, measured: ([\d.]+) %", one.output)
    if said:
        one.values["said"] = float(said[1]) / 100
    return one


def served(command, requests):
    """Starts the server, runs the load, stops the server, and waits for the collector."""
    def load(_):
        for _ in range(200):
            if subprocess.run(["redis-cli", "-p", str(PORT), "ping"], capture_output=True).stdout == b"PONG\n":
                break
            time.sleep(0.05)
        began = time.monotonic()
        subprocess.run(["redis-benchmark", "-p", str(PORT), "-c", "50", "-n", str(requests), "-t", "get", "-q"],
                       capture_output=True, timeout=TIMEOUT_S)
        seconds = time.monotonic() - began
        subprocess.run(["redis-cli", "-p", str(PORT), "shutdown", "nosave"], capture_output=True)
        return lambda: {"load_s": seconds}
    return measure.run(command, TIMEOUT_S, beside=load)


def chosen(options, out):
    """Returns name -> (command, requests of the load)."""
    if options.command:
        return {"command": (options.command.split(), 0)}
    found = {}
    for name in bench.choice(options.programs, PROGRAMS, "program") if options.programs else list(PROGRAMS)[:-1]:
        size = PROGRAMS[name][1] if options.smoke else int(PROGRAMS[name][0] * options.size)
        found[name] = ([os.path.join(out, "programs"), name, str(size)], 0)
        if name == "redis":
            bench.install(["redis-server", "redis-tools"])
            found[name] = (["redis-server", "--port", str(PORT), "--bind", "127.0.0.1", "--io-threads", "4",
                            "--io-threads-do-reads", "yes", "--save", ""], size)
    return found


def main(tree, options, out):
    folder = os.path.join(out, "measure-overhead")
    os.makedirs(folder, exist_ok=True)
    here = os.path.dirname(os.path.abspath(__file__))
    for name in ("timed", "programs"):
        bench.build([tree.tool("clang"), "-O2", "-g", "-pthread", os.path.join(here, name + ".c"), "-o",
                     os.path.join(folder, name)])
    collectors = bench.choice(options.collectors, COLLECTORS, "collector") if options.collectors else \
        ["vfriendly", *(c for c in COLLECTORS[1:] if shutil.which(c))]
    repetitions = 1 if options.smoke else options.reps
    report = bench.Report("measure-overhead", tree, out, {"reps": repetitions, "smoke": options.smoke})
    print(f"{repetitions} pairs; ratios of the program's CPU and wall time to those without a collector, medians of pairs")
    for name, (command, requests) in chosen(options, folder).items():
        variants = {c: lambda c=c: once(tree, c, command, folder, name, requests) for c in ("none", *collectors)}
        # The first run has the start of all caches in it.
        if not options.smoke:
            variants["none"]()
        runs = measure.in_turn(variants, repetitions)
        report.samples(runs, program=name)
        rows = []
        for collector in collectors:
            ratios = {key: measure.median_figure(measure.pair_ratios(
                runs[collector], runs["none"], lambda one, key=key: measure.Figure(one.values[f"program_{key}"])))
                for key in ("cpu_s", "wall_s")}
            ends = measure.spread([a.values["program_cpu_s"] / b.values["program_cpu_s"]
                                   for a, b in zip(runs[collector], runs["none"], strict=True)])
            said = [one.values["said"] for one in runs[collector] if "said" in one.values]
            own = f"{1 + sum(said) / len(said):.3f}" if said else "-"
            beside = measure.median_figure(measure.Figure(max(one.cpu - one.values["program_cpu_s"], 0))
                                           for one in runs[collector])
            report.summary(program=name, collector=collector, cpu=ratios["cpu_s"].value, wall=ratios["wall_s"].value,
                           said=own)
            verdict = "smoke" if options.smoke else "-" if collector != "vfriendly" else \
                "ok" if ratios["cpu_s"].at_most(BOUND) else f"short: more than {BOUND}"
            rows.append([f"{name}: {collector}", ratios["cpu_s"].text("{:.3f}"), f"{ends['q1']:.3f}..{ends['q3']:.3f}",
                         ratios["wall_s"].text("{:.3f}"), own, beside.text("{:.2f} s"), verdict])
        bench.table(["", "CPU ratio", "quartiles", "wall ratio", "says itself", "beside it", "verdict"], rows)
    report.write()
    return 0
