# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A few commands compared with the first of them: runs, ratios and rows.

Shared by the benchmarks whose unit is a command. Ratios are baseline / other:
above 1 means that the other is faster or needs less CPU.
"""

import measure


def compare(commands, repetitions, what):
    """commands: name -> function that makes one Run, the baseline first.
    Returns the runs and, for each of the others, wall and CPU ratios."""
    progress = measure.Progress(what)
    total = repetitions * len(commands)
    runs = measure.in_turn(commands, repetitions, lambda n: progress.at(f"run {n} of {total}"))
    progress.end()
    baseline = next(iter(commands))
    ratios = {
        name: {
            "wall": measure.pair_ratios(runs[baseline], runs[name], measure.wall_of),
            "cpu": measure.pair_ratios(runs[baseline], runs[name], measure.cpu_of),
        }
        for name in commands
        if name != baseline
    }
    return runs, ratios


def rows(runs, ratios):
    """Table rows: name, wall, CPU, then baseline over it in both."""
    for name, each in runs.items():
        wall = measure.median_figure(map(measure.wall_of, each))
        cpu = measure.median_figure(map(measure.cpu_of, each))
        row = [name, wall.text("{:.3f} s"), cpu.text("{:.3f} s")]
        for what in ("wall", "cpu"):
            if name not in ratios:
                row += ["1", ""]
                continue
            figures = ratios[name][what]
            ends = measure.spread([f.value for f in figures])
            row += [measure.median_figure(figures).text("{:.3f}"),
                    f"{ends['q1']:.3f}..{ends['q3']:.3f}"]
        yield row


HEADER = ["", "time", "CPU", "time ratio", "quartiles", "CPU ratio", "quartiles"]


def summarize(report, runs, ratios, **cell):
    report.samples(runs, **cell)
    for name, each in runs.items():
        row = {
            "variant": name,
            "wall_s": measure.spread([r.wall for r in each]),
            "cpu_s": measure.spread([r.cpu for r in each]),
            "timeouts": sum(r.status == "timeout" for r in each),
        }
        for what in ("wall", "cpu"):
            if name in ratios:
                row[f"{what}_ratio"] = {
                    "median": measure.median_figure(ratios[name][what]).text("{:.4f}"),
                    **{k: v for k, v in
                       measure.spread([f.value for f in ratios[name][what]]).items()
                       if k != "median"},
                }
        report.summary(**cell, **row)
