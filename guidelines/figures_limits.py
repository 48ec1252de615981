# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of cpu-limits.md, see figures.py."""
import statistics

from figures_common import digits, fail

RATIOS = ("Ratios are medians of pairs, with the interval in which the median lies with a probability of 95 %:\n"
          "one around 1 shows no difference.")
BESIDE = {"idle": "nothing", "hogs": "a thread that computes for each CPU"}


def beside(condition):
    if condition.startswith("limit-"):
        return f"a limit of {condition[len('limit-'):]} CPUs"
    return BESIDE[condition]


def where(report):
    return f"on {report['machine']['cpus']} CPUs of a\nvirtual machine ({report['machine']['model']}), commit `{report['commit'][:10]}`."


def ratio(row, what, form):
    """The median, and its interval of 95 % if there were enough runs."""
    of = row[what]
    ends = of.get("interval")
    return form.format(of["median"]) + (f" ({form.format(ends[0])} to {form.format(ends[1])})" if ends else "")


def cells(report, ours, default):
    """A row for each cell of a benchmark that uses cells.py."""
    names = list(report["summary"][0]["us"])
    yield f"| beside | | {' | '.join(names)} | {ours} / best other | {default} / {ours} |"
    yield "|---|---|" + "---|" * (len(names) + 2)
    for row in report["summary"]:
        yield (f"| {beside(row['condition'])} | {row['size']} | {' | '.join(digits(row['us'][n]) for n in names)} | "
               f"{ratio(row, 'ours_over_best', '{:.2f}')} | {ratio(row, 'default_over_ours', '{:.3g}')} |")


def limits(report):
    yield (f"Two threads take turns of so many microseconds: µs for a turn, medians of {report['parameters']['reps']} runs of `./dev bench limits` "
           f"{where(report)}\n{RATIOS}\n")
    yield from cells(report, "rewritten", "spin")


def openmp(report):
    parameters = report["parameters"]
    # With --add, fewer where a run takes long.
    runs = sorted({row["ours_over_best"]["n"] for row in report["summary"]})
    runs = f"{runs[0]} to {runs[-1]}" if len(runs) > 1 else runs[0]
    yield (f"Microseconds for a parallel region of some 10 µs of work (gcc, clang), or for another unit of work: medians of {runs} runs of\n"
           f"{parameters['ms']} ms, each after as long a time that does not count, of `./dev bench openmp` {where(report)}\n{RATIOS}\n")
    yield from cells(report, "libvfomp", "default")


def servers(report):
    parameters = report["parameters"]
    yield (f"Servers in a group limited to {parameters['limit']:g} CPU, {parameters['clients']} connections: medians of {parameters['reps']} runs of "
           f"{parameters['ms']} ms of `./dev bench servers` {where(report)}\n{RATIOS}\n")
    yield "| server | threads | requests per second | with libvfpthread.so | ratio | p99, ms | with libvfpthread.so | ratio |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in report["summary"]:
        plain, ours = row["plain"], row["libvfpthread"]
        yield (f"| {row['server']} | {row['threads']} | {digits(plain['rps'])} | {digits(ours['rps'])} | "
               f"{ratio(row, 'rate_ratio', '{:.2f}')} | {digits(plain['p99_ms'])} | {digits(ours['p99_ms'])} | {ratio(row, 'p99_ratio', '{:.2f}')} |")


REDIS = {"plain": "as it is", "plugin": "rewritten", "alone": "rewritten, without libvfrt", "preload": "libvfpthread.so and libvfmalloc.so preloaded",
         "hand": "yields by hand", "one thread": "one thread"}


def redis(report):
    """Only of a limited group; the page on spin loops has no table of the others."""
    parameters = report["parameters"]
    if not parameters["limit"]:
        fail("redis: only a run with --limit has a table")
    yield (f"Redis {parameters['redis']} in a group limited to {parameters['limit']:g} CPU, {parameters['clients']} clients: medians of {parameters['reps']} runs of "
           f"`./dev bench redis --limit {parameters['limit']:g}` {where(report)}\n{RATIOS}\n")
    yield "| I/O threads | | SET per second | GET per second | GET: ratio to as it is | p50 of GET, ms | p99 of GET, ms |"
    yield "|---|---|---|---|---|---|---|"
    over = {row["threads"]: row["get_over_plain"] for row in report["summary"]}
    for row in report["samples"]:
        # A run that was stopped has no figures.
        middle = [digits(statistics.median(run[key] for run in row["runs"])) if all(key in run for run in row["runs"]) else "stopped"
                  for key in ("set_rps", "get_rps", "get_p50_ms", "get_p99_ms")]
        ratios = over[row["threads"]]
        middle.insert(2, ratio(ratios, row["variant"], "{:.3g}") if row["variant"] in ratios else "")
        yield f"| {row['threads']} | {REDIS[row['variant']]} | {' | '.join(middle)} |"
