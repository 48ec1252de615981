# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Figures of ./dev bench gleaner."""

import statistics

from figures_common import digits


def gleaner(report):
    """A row for each program."""
    parameters = report["parameters"]
    options = " ".join([f"--seconds {parameters['seconds']:g}", f"--reps {parameters['reps']}", *parameters["options"]])
    commits = ", ".join(dict.fromkeys(f"`{c[:10]}`" for c in report["commits"]))
    yield (f"Operations per second, medians of {parameters['reps']} paired runs by `./dev bench gleaner {options}` on {report['machine']['cpus']} CPUs of a\n"
           f"virtual machine ({report['machine']['model']}), commit {commits}. Server and clients run under the daemon; CPUs include its own.\n")
    yield "| program | alone | with gleaner | ratio | lowest, highest | CPUs | with gleaner | the daemon's own | p99, ms | with gleaner | kept, in runs | last decision |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for row in report["summary"]:
        rate, cpus, ratio = row["rate"], row["cpus"], row["ratio"]
        p99 = [f"{row['p99_ms'][v]:.2f}" if row["p99_ms"] else "" for v in ("alone", "gleaner")]
        yield (f"| {row['workload']} | {digits(rate['alone'])} | {digits(rate['gleaner'])} | {ratio['median']:.2f} | {ratio['min']:.2f}, {ratio['max']:.2f} | "
               f"{cpus['alone']:.2f} | {cpus['gleaner']:.2f} | {row['own']:.2%} | {' | '.join(p99)} | {row['kept']} | {row['last']} |")


def gleaner_jump(report):
    """One row: how long a program waits for its CPUs."""
    (row,) = report["summary"]
    threads, back = report["parameters"]["threads"], row["back_ms"]
    yield (f"Four threads compute for some 20 µs and sleep by turns, and are confined to one CPU of {report['machine']['cpus']}; then {threads} more "
           f"begin to compute. By\n`./dev bench gleaner --jump --reps {row['runs']}` ({report['machine']['model']}), commit `{report['commit'][:10]}`.\n")
    yield "| jumps | all CPUs are back after, median | first and third quartile | worst | runs in which nothing was confined |"
    yield "|---|---|---|---|---|"
    yield (f"| {back['n']} | {back['median']:.1f} ms | {back['q1']:.1f}, {back['q3']:.1f} ms | {back['max']:.1f} ms | {row['runs'] - back['n']} |")


WORK = {"free": "pairs that hand over, after {us:g} µs of work", "busy": "threads that compute: exits a second"}


def _boots(counts):
    return " to ".join(map(str, sorted({min(counts), max(counts)}))) + (" boot" if max(counts) == 1 else " boots")


def gleaner_guests(report):
    """A row for each workload and number of vCPUs."""
    rows = report["summary"]
    yield (f"Exits to the hypervisor for each round of work, medians of {_boots([r['boots'] for r in rows])} by `./dev bench gleaner --guests "
           f"{','.join(str(n) for n in sorted({r['cpus'] for r in rows}))} --warm-up {report['parameters']['warm_up']}`, "
           f"commit `{report['commit'][:10]}`.\nGuests run in an emulated one, so only counts mean something.\n")
    yield "| vCPUs | work | number | exits | with gleaner | fewer | lowest, highest | halts | with gleaner | wake-ups | with gleaner |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        count, ns, kind = row["workload"].split()
        each, fewer = row["per_round"], row["fewer"]
        shown = [f"{each[v][what]:.2f}" for what in ("all", "HLT", "ICR") for v in ("alone", "gleaner")]
        yield (f"| {row['cpus']} | {WORK[kind].format(us=int(ns) / 1000)} | {count} | {shown[0]} | {shown[1]} | {statistics.median(fewer):.0%} | "
               f"{min(fewer):.0%}, {max(fewer):.0%} | {' | '.join(shown[2:])} |")


def gleaner_crowded(report):
    """A row for each workload in an over-committed guest."""
    rows = report["summary"]
    yield (f"Rounds a second of a guest with four vCPUs on two CPUs, beside two threads that compute and have an equal share; medians of\n"
           f"{_boots([len(r['ratios']) for r in rows])} by `./dev bench gleaner --crowded --warm-up {report['parameters']['warm_up']}`, "
           f"commit `{report['commit'][:10]}`. The host is emulated: compare within a row only.\n")
    yield "| work of four threads | four vCPUs | confined to two by hand | with gleaner | with / without | lowest, highest |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        rates, ratios = row["rates"], row["ratios"]
        yield (f"| {row['workload']} | {' | '.join(digits(r) for r in rates.values())} | {statistics.median(ratios):.2f} | "
               f"{min(ratios):.2f}, {max(ratios):.2f} |")
