# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Binaries that spin: as they are, with libvfspin.so, and under gleaner tick: ./dev bench spin-unmodified [--only KIND,...]
[--variants spin,tick] [--beside CONDITION] [--src DIR] [--add]

What a program does in a second, and how many times more with each remedy: medians of pairs, with the interval in which
the median lies with a probability of 95 %. Programs whose tools or packages are missing are left out, with the reason.
"""

import os
import sys

import bench
import conditions
import rows

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "checkers", "cli"))
from vfriendly import intervals

SENTENCE = "Programs that spin and are not rebuilt: plain, with libvfspin.so, and under gleaner tick."
ALONE = False
SMOKE = ("barrier 4", "computes 4", "static barrier 4")


def options(parser):
    parser.add_argument("--only", metavar="KIND,...", help="of the programs, by their names in the table")
    parser.add_argument("--variants", metavar="V,...", default="spin,tick", help="of the remedies [%(default)s]")
    parser.add_argument("--beside", metavar="CONDITION", default="idle",
                        help="idle, hogs (a thread for each CPU), or limit-CPUS [%(default)s]")
    parser.add_argument("--src", metavar="DIR", help="where test/rigs/corpus/README.md says to put volrend's sources")
    parser.add_argument("--add", action="store_true", help="keep the other rows of the last run of the same commit")
    parser.add_argument("--reps", type=int, default=10, metavar="N", help="pairs of each [%(default)s]")
    parser.add_argument("--seconds", type=float, default=2, metavar="S", help="of a run [%(default)s]")


def main(tree, options, out):
    library, gleaner = os.path.join(tree.lib, "libvfspin.so"), os.path.join(tree.build, "bin", "gleaner")
    if not os.path.exists(library):
        raise bench.Broken("there is no libvfspin.so: install libcapstone-dev, and build")
    if options.reps < 1 or options.seconds <= 0:
        raise bench.Usage("--reps and --seconds must be positive")
    if not conditions.usable([options.beside]):
        return 0
    seconds, reps = (0.3, 1) if options.smoke else (options.seconds, options.reps)
    os.makedirs(out, exist_ok=True)
    makers = rows.makers(options.src)
    if options.smoke:
        makers = {name: makers[name] for name in SMOKE}
    picked = bench.choice(options.only, makers, "program")
    plain = dict(os.environ)
    remedies = {"spin": ([], {**plain, "LD_PRELOAD": library}), "tick": ([gleaner, "tick", "--"], plain)}
    wanted = bench.choice(options.variants, remedies, "remedy")
    variants = {"plain": ([], plain), **{name: remedies[name] for name in wanted}}
    report = bench.Report("spin-unmodified", tree, out, {"reps": reps, "seconds": seconds, "smoke": options.smoke})
    if options.add:
        report.add_to_last(("reps", "seconds"), lambda row: row["program"] in picked and row["beside"] == options.beside)
    table, made = [], {}
    for name in picked:
        try:
            if name not in made:
                made |= makers[name](out, seconds, tree)
        except rows.bring.NotRun as why:
            print(f"{name} is left out: {why}", flush=True)
            continue
        rates = {variant: [] for variant in variants}
        with conditions.beside(options.beside) as begin:
            for _ in range(reps):
                for variant, (prefix, environment) in variants.items():
                    rates[variant].append(made[name].run([*begin, *prefix], environment))
        report.content["samples"].append({"program": name, "beside": options.beside, "seconds": seconds, "rates": rates})
        middle = sorted(rates["plain"])[reps // 2]
        row, summary = [name, f"{middle:.4g}"], {}
        for variant in wanted:
            gain = intervals.of_ratios(rates[variant], rates["plain"])
            summary[variant] = {"ratio": gain.estimate, "low": gain.low, "high": gain.high}
            row.append(f"{gain.estimate:.3g} [{gain.low:.3g}, {gain.high:.3g}]" if reps > 5 else f"{gain.estimate:.3g}")
        report.summary(program=name, beside=options.beside, pairs=reps, plain=middle, **summary)
        report.save()
        table.append(row)
        print(f"{name}: {row[1:]}", file=sys.stderr, flush=True)
    print(f"{reps} pairs of {seconds} s beside {options.beside}: in a second, and times as many with the remedy; {bench.cpus()} CPUs")
    bench.table(["", "plain", *wanted], table)
    report.write()
    return 0
