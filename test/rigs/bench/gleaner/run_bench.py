# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that block, without and with gleaner: ./dev bench gleaner [--workloads W,...]
[--seconds S] [--reps N]

Server and clients run together under the daemon. A ratio above 1 means that more was done
with it. Programs that are not installed are fetched from Debian; where that cannot be, their
rows are left out and named.
"""

import os
import re
import shutil
import sys

import bench
import crowded
import guests
import measure
import nested_exits

SENTENCE = "Programs that block, without and with the gleaner daemon: operations per second."
ALONE = False  # It installs servers.

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {"redis": ("redis-server", "redis-tools"), "postgresql": ("postgresql",), "zstd": ("zstd",),
            "sysbench": ("sysbench",), "idle": (), "pingpong": (), "stages": (),
            "memcached": ("memcached",), "dedup": ("libssl-dev", "libzstd-dev", "libtbb-dev")}
WORKLOADS = ("pingpong:1:500:pinned", "pingpong:1:20000:pinned", "pingpong:1:500:free", "pingpong:1:20000:free",
             "pingpong:4:500:free", "pingpong:4:20000:free", "stages:8", "redis:1", "redis:16", "postgresql:1",
             "postgresql:16", "postgresql:64", "memcached:1", "memcached:16", "memcached:64", "dedup:broadcast",
             "dedup:batches", "zstd:2", "sysbench:threads:4", "sysbench:mutex:4", "idle")
TIMEOUT_S = 120
KEPT = {"awake": "gleaner: more progress with CPUs kept awake", "fewer": "gleaner: more progress on fewer CPUs"}


def options(parser):
    parser.add_argument("--workloads", metavar="W,...", help=f"of {', '.join(WORKLOADS)}; with --guests of "
                        f"{', '.join(nested_exits.WORKLOADS)}")
    parser.add_argument("--seconds", type=float, default=6, help="length of a run [%(default)s]")
    parser.add_argument("--reps", type=int, default=3, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--add", action="store_true",
                        help="keep the rows of other workloads that an earlier run, with these options, wrote")
    parser.add_argument("--jump", action="store_true",
                        help="time until all CPUs are back, after a jump from a pair on fewer to busy threads, instead")
    parser.add_argument("--guests", metavar="CPUS,...", help="count exits in nested guests with so many vCPUs instead")
    parser.add_argument("--crowded", metavar="W,...", nargs="?", const="all",
                        help="a nested guest with four vCPUs on two CPUs beside others instead; W: "
                        f"{', '.join(crowded.WORKLOADS)}")
    parser.add_argument("--warm-up", type=int, default=25, metavar="S",
                        help="guests only: time for trials, of a second a window there, before exits are counted "
                        "[%(default)s]")
    parser.add_argument("--option", action="append", default=[], metavar="OPTION",
                        help="an option of gleaner run, like --option=--no-fold")


def prepare(tree, folder, names):
    os.makedirs(folder, exist_ok=True)
    bench.build([tree.tool("clang"), "-O2", "-pthread", os.path.join(HERE, "pingpong.c"), "-o",
                 os.path.join(folder, "pingpong")])
    kinds = {name.split(":")[0] for name in names}
    bench.install([package for kind in sorted(kinds) for package in PROGRAMS[kind]])
    examples = os.path.join(tree.source, "examples")
    if "stages" in kinds:
        bench.build([tree.tool("clang"), "-O2", "-pthread", os.path.join(examples, "gleaner", "stages.c"), "-o",
                     os.path.join(folder, "stages")])
    if "memcached" in kinds:
        bench.build([tree.tool("clang"), "-O2", os.path.join(HERE, "..", "servers", "load.c"), "-o",
                     os.path.join(folder, "load")])
    if "dedup" in kinds:
        bench.build([os.path.join(examples, "dedup", "build.sh"), folder])
    source = os.path.join(folder, "source")
    if kinds & {"zstd", "dedup"} and not os.path.exists(source):
        with open(source, "wb") as out:  # what every machine has: the compiler's library
            with open(os.path.join(tree.llvm, "lib", "libLLVM.so.1"), "rb") as file:
                out.write(file.read(32 << 20))
    if "postgresql" in kinds and not os.path.exists(os.path.join(folder, "cluster")):
        make_cluster(folder)


def make_cluster(folder):
    tools = sorted(f"/usr/lib/postgresql/{v}/bin" for v in os.listdir("/usr/lib/postgresql"))[-1]
    user = []
    if os.geteuid() == 0:
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(folder, "postgres", "postgres")
    data = os.path.join(folder, "cluster")
    bench.build([*user, f"{tools}/initdb", "-D", data, "-A", "trust"])
    start = [*user, f"{tools}/pg_ctl", "-D", data, "-w", "-o", f"-k {folder} -p 17621 -c listen_addresses="]
    bench.build([*start, "-l", os.path.join(folder, "log"), "start"])
    try:
        bench.build([*user, f"{tools}/pgbench", "-q", "-i", "-s", "10", "-h", folder, "-p", "17621", "postgres"])
    finally:
        bench.build([*start, "stop"])


def own_share(path, seconds):
    """CPU time of measuring and deciding, of the last run, in CPUs."""
    with open(path) as file:
        found = re.search(r"^gleaner_daemon_cpu_seconds_total\{.*\} (\S+)$", file.read(), re.M)
    os.remove(path)  # the next run must write it anew
    return float(found.group(1)) / seconds


def under_gleaner(command, state):
    run = measure.run(command, TIMEOUT_S)
    if "rate" in run.values:
        run.values["own"] = own_share(state, run.wall)
    return run


def kept(runs):
    """What won a trial, and in how many runs: "awake 3, fewer 1" """
    counts = {name: sum(text in run.errors for run in runs) for name, text in KEPT.items()}
    return ", ".join(f"{name} {n} of {len(runs)}" for name, n in counts.items() if n) or "nothing"


def decisions(run):
    """What the daemon said of its decisions, in order"""
    return [line.split("gleaner: ", 1)[1].split(":")[0] for line in run.errors.splitlines() if line.startswith("gleaner: ")]


def why_not_confined(run):
    """The most frequent reason that the daemon gave"""
    said = [text for text in decisions(run) if not text.startswith("waking a halted CPU")]
    return max(said, key=said.count) if said else "nothing said"


def jump(tree, folder, options, out):
    program = os.path.join(folder, "jump")
    bench.build([tree.tool("clang"), "-O2", "-pthread", os.path.join(HERE, "jump.c"), "-o", program])
    threads = 2 * len(os.sched_getaffinity(0))
    report = bench.Report("gleaner-jump", tree, out, {"threads": threads, "options": options.option})
    command = [os.path.join(tree.build, "bin", "gleaner"), "run", "--explain", "--metric-calls", f"{program}:done",
               *options.option, "--", program, str(threads), "10"]
    rows, back, why = [], [], {}
    for _ in range(options.reps):
        run = measure.run(command, TIMEOUT_S)
        report.samples({"gleaner": [run]})
        rows.append([str(run.values.get("kept", "not confined")), str(run.values.get("back_ms", "")), ""])
        if "back_ms" in run.values:
            back.append(run.values["back_ms"])
        else:
            print(run.errors, file=sys.stderr)
            rows[-1][2] = why_not_confined(run)
            why[rows[-1][2]] = why.get(rows[-1][2], 0) + 1
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
        report.content["summary"] = [{"runs": len(rows), "back_ms": measure.spread(back), "why_not": why}] if back else []
        report.save()
    bench.table([f"CPUs before {threads} busy threads", "all back after ms", "why not confined"], rows)
    if back:
        print("median {median:.1f} ms, worst {max:.1f} ms of {n} jumps".format(**measure.spread(back)))
    report.write()
    return 0


def in_guests(tree, folder, options, out):
    """Boots guests; their counts are added to those of earlier calls with --add."""
    part, name = (nested_exits, "guests") if options.guests else (crowded, "crowded")
    cells = list(map(int, options.guests.split(","))) if options.guests else bench.choice(
        "" if options.crowded == "all" else options.crowded, crowded.WORKLOADS, "workload")
    chosen = bench.choice(options.workloads or ",".join(part.WORKLOADS), part.WORKLOADS, "workload")
    report = bench.Report(f"gleaner-{name}", tree, out, {"warm_up": options.warm_up, "options": options.option})
    if options.add:
        report.add_to_last()
    rig = guests.Rig(tree, os.path.join(folder, name), part.ONE_THREAD)  # calls of both parts may run at once
    rows, lost = [], []
    for cell in cells * options.reps:
        lost += part.run(rig, cell, options.warm_up, options.option, report, chosen) or []
        rows = part.table(report)
        report.save()
    bench.table(part.HEADER, rows)
    report.write()
    if lost:
        print(f"bench gleaner: broke off each time: {', '.join(lost)}", file=sys.stderr)
    return 1 if lost else 0


def main(tree, options, out):
    in_guest = options.guests or options.crowded
    names = [] if in_guest or options.jump else bench.choice(options.workloads or ",".join(WORKLOADS), WORKLOADS, "workload")
    seconds, reps = options.seconds, options.reps
    if options.smoke:
        names, seconds, reps = ["pingpong:1:20000:free"], 1, 1
    folder = os.path.join(tree.build, "bench", "gleaner-work")
    prepare(tree, folder, names)
    if in_guest:
        return in_guests(tree, folder, options, out)
    if options.jump:
        return jump(tree, folder, options, out)
    report = bench.Report("gleaner", tree, out, {"seconds": seconds, "reps": reps, "options": options.option})
    if options.add:
        report.add_to_last(replaces=lambda row: row["workload"] in names)
    gleaner = os.path.join(tree.build, "bin", "gleaner")
    rows, broken, progress = [], False, measure.Progress("gleaner")
    for name in names:
        progress.at(f"{name}, {len(rows)} of {len(names)} done")
        command = [sys.executable, os.path.join(HERE, "workload.py"), folder, str(seconds), name]
        state = os.path.join(folder, "state.prom")
        under = [gleaner, "run", "--explain", "--prometheus", state, *options.option, "--", *command]
        runs = measure.in_turn({"alone": lambda c=command: measure.run(c, TIMEOUT_S),
                                "gleaner": lambda c=under, s=state: under_gleaner(c, s)}, reps)
        report.samples(runs, workload=name)
        if any("rate" not in run.values for each in runs.values() for run in each):
            broken = True
            failed = next(run for each in runs.values() for run in each if "rate" not in run.values)
            print(f"{name}: {failed.status}: {failed.errors.strip()[-300:]}", file=sys.stderr)
            continue
        figure = lambda key: lambda run: measure.Figure(run.values[key])
        ratios = measure.pair_ratios(runs["gleaner"], runs["alone"], figure("rate"))
        median = lambda variant, value: measure.median_figure(map(value, runs[variant])).value
        used = lambda run: measure.Figure(measure.cpu_of(run).value / run.wall)  # some do a number of operations
        p99 = [f"{median(v, figure('p99_ms')):.2f}" if "p99_ms" in runs[v][0].values else "" for v in runs]
        ends = measure.spread([r.value for r in ratios])
        said = [text for run in runs["gleaner"] for text in decisions(run)]
        last = said[-1] if said else ""
        rows.append([name, *(f"{median(v, figure('rate')):.1f}" for v in runs),
                     f"{measure.median_figure(ratios).value:.3f}", f"{ends['min']:.3f}..{ends['max']:.3f}",
                     *(f"{median(v, used):.2f}" for v in runs),
                     f"{median('gleaner', figure('own')):.2%}", *p99, kept(runs["gleaner"]), last])
        report.summary(workload=name, rate={v: median(v, figure("rate")) for v in runs},
                       cpus={v: median(v, used) for v in runs}, ratio=ends, last=last,
                       kept=kept(runs["gleaner"]), own=median("gleaner", figure("own")),
                       p99_ms={v: median(v, figure("p99_ms")) for v in runs if "p99_ms" in runs[v][0].values})
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)  # a long run may be cut short
        report.save()
    progress.end()
    bench.table(["", "alone", "gleaner", "ratio", "ends", "CPUs", "with", "own", "p99 ms", "with", "kept",
                 "last decision"], rows)
    report.write()
    return 1 if broken else 0
