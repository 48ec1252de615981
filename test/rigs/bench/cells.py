# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A table with a cell for each size and condition: what fixed variants take, and ours.

Each command prints {"us": microseconds, "cpu_us": ...} of one unit of its work."""

import statistics

import bench
import measure
from conditions import beside

TIMEOUT_S = 60


def us_of(one):
    """Microseconds of a unit; those of a run that was killed are at least all of its time."""
    if one.status == "timeout":
        return one.wall * 1e6
    if one.status != "ok" or "us" not in one.values:
        raise bench.Broken(f"failed: {one.output}{one.errors}")
    return one.values["us"]


def run(report, sizes, conditions, commands, repetitions, ours, default):
    """sizes: name -> value for commands; commands: name -> function of the value that gives a
    command and an environment. `ours` and `default` are names of commands. Adds to the report
    and prints a row for each cell, with the ratio of ours to the best of the others, and of the
    default to ours: medians of the ratios within repetitions."""
    progress = measure.Progress(report.content["name"])
    rows = []
    for condition in conditions:
        for size, value in sizes.items():
            with beside(condition) as prefix:
                def once(name):
                    command, environment = commands[name](value)
                    return measure.run(prefix + command, TIMEOUT_S, environment)

                runs = measure.in_turn({name: lambda name=name: once(name) for name in commands}, repetitions)
            progress.at(f"{condition}, {size}")
            medians = {name: statistics.median(map(us_of, each)) for name, each in runs.items()}
            best = min((name for name in commands if name != ours), key=medians.get)
            against = measure.spread([us_of(a) / us_of(b) for a, b in zip(runs[ours], runs[best])])
            gain = measure.spread([us_of(a) / us_of(b) for a, b in zip(runs[default], runs[ours])])
            report.samples(runs, condition=condition, size=size)
            report.summary(condition=condition, size=size, us=medians, best=best,
                           ours_over_best=against, default_over_ours=gain)
            rows.append([condition, size, *(f"{medians[name]:.1f}" for name in commands), best,
                         f"{against['median']:.2f}", f"{gain['median']:.2f}"])
    progress.end()
    bench.table(["", "", *commands, "best fixed", f"{ours} / best", f"{default} / {ours}"], rows)
