# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table with a cell for each size and condition: what fixed variants take, and ours.

Each command prints {"us": microseconds, "cpu_us": ...} of one unit of its work, or, if it
measures several sizes in one run, {"parts": {size: {"us": ..., "cpu_us": ...}, ...}}. Without
either its time counts."""

import statistics

import bench
import measure
from conditions import beside

TIMEOUT_S = 60


def us_of(one, part=None):
    """Microseconds of a unit; those of a run that was killed are at least all of its time."""
    if one.status == "timeout":
        return one.wall * 1e6
    try:
        if one.status != "ok":
            raise KeyError
        # A program that prints nothing is measured by its time.
        return one.values.get("us", one.wall * 1e6) if part is None else one.values["parts"][part]["us"]
    except KeyError:
        raise bench.Broken(f"failed: {one.output}{one.errors}") from None


def _parts(runs):
    """The sizes that each run has measured; None if it is one."""
    for each in runs.values():
        for one in each:
            if "parts" in one.values:
                return list(one.values["parts"])
    return [None]


def ratios(over, under):
    """The spread of the ratios within repetitions, and the interval of their median."""
    each = [a / b for a, b in zip(over, under)]
    return {**measure.spread(each), "interval": measure.median_interval(each)}


def ratio_text(ratio):
    """The median and its interval: "1.42 (0.97..1.62)". One around 1 shows no difference."""
    inside = "too few runs" if ratio["interval"] is None else "..".join(f"{end:.2f}" for end in ratio["interval"])
    return f"{ratio['median']:.2f} ({inside})"


def run(report, sizes, conditions, commands, repetitions, ours, default):
    """sizes: name -> value for commands; commands: name -> function of the value that gives a
    command and an environment. `ours` and `default` are names of commands. Adds to the report
    and prints a row for each cell, with the ratio of ours to the best of the others, and of the
    default to ours: medians of the ratios within repetitions. The best is the best of these runs,
    so the first ratio is a little too large. Prints and writes them as soon as they are measured."""
    progress = measure.Progress(report.content["name"])
    header = ["", "", *commands, "best fixed", f"{ours} / best", f"{default} / {ours}"]
    widths = [10, 24, *(max(10, len(name)) for name in header[2:-2]), *(max(20, len(name)) for name in header[-2:])]

    def show(row):
        print("  ".join(text.ljust(width) if n < 2 else text.rjust(width)
                        for n, (text, width) in enumerate(zip(row, widths))), flush=True)

    show(header)
    for condition in conditions:
        for size, value in sizes.items():
            with beside(condition) as prefix:
                def once(name):
                    command, environment = commands[name](value)
                    return measure.run(prefix + command, TIMEOUT_S, environment)

                runs = measure.in_turn({name: lambda name=name: once(name) for name in commands}, repetitions)
            progress.at(f"{condition}, {size}")
            report.samples(runs, condition=condition, size=size)
            for part in _parts(runs):
                label = size if part is None else f"{size}, {part}"
                us = {name: [us_of(one, part) for one in each] for name, each in runs.items()}
                medians = {name: statistics.median(each) for name, each in us.items()}
                best = min((name for name in commands if name != ours), key=medians.get)
                against, gain = ratios(us[ours], us[best]), ratios(us[default], us[ours])
                report.summary(condition=condition, size=label, us=medians, best=best,
                               ours_over_best=against, default_over_ours=gain)
                show([condition, label, *(f"{medians[name]:.1f}" for name in commands), best,
                      ratio_text(against), ratio_text(gain)])
            report.save()
    progress.end()
