# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Waits as users write them against the same waits rewritten and by hand.

A cell is a kind of wait at a number of threads. Its variants get rounds enough
to run for about the same time each, so a loop that takes a time slice a round
and one that takes a microsecond fit one table; times are per round.
"""

import math
import os

import bench
import measure
import programs
import verdicts

SENTENCE = "Time and CPU of spin waits: original, rewritten and written by hand."
ALONE = True

# Some ten time slices, and short enough for the full table: the 320 program
# cells of the kinds without a bound take under 6 minutes.
TARGET_S = 0.05
# In a round each thread waits at least once, so three are 48 waits with 8
# threads on each of 2 CPUs. The slowest originals take 0.5 s a round there.
FEWEST_ROUNDS = 3
MOST_ROUNDS = 4_000_000
# Twice what the slowest original takes on 2 CPUs for the fewest rounds.
TIMEOUT_S = 4
# Bounds the whole table on a machine that others keep busy. The slowest cell
# on 2 idle CPUs, three variants of some 1.5 s, five times, just fits.
CELL_BUDGET_S = 25
TIMES = (1, 2, 4, 8)


def options(parser):
    parser.add_argument("--reps", type=int, default=5, metavar="N",
                        help="repetitions of a cell [%(default)s; at least "
                        f"{verdicts.OWN_CPU_PAIRS} with a CPU for each thread]")
    parser.add_argument("--kinds", metavar="K,...", help="only these kinds")
    parser.add_argument("--variants", metavar="V,...", help="only these variants")
    parser.add_argument("--times", metavar="T,...", help="only these threads per CPU, of 1,2,4,8")


def calibrate(program, threads, environment):
    """How many rounds run for about TARGET_S. Also the warm-up. A timeout
    leaves the fewest."""
    rounds = FEWEST_ROUNDS
    while True:
        one = programs.run(program, threads, rounds, TIMEOUT_S, environment)
        if one.status == "timeout":
            return FEWEST_ROUNDS
        took = one.values["ns"] / 1e9
        if took >= TARGET_S / 3 or rounds >= MOST_ROUNDS:
            fit = int(rounds * TARGET_S / took)
            return max(FEWEST_ROUNDS, min(fit, rounds * 4, MOST_ROUNDS))
        # By at most 8: the first rounds may be far from the steady state.
        rounds = int(rounds * min(8, max(2, TARGET_S / max(took, 1e-9) / 2)))


def measure_cell(made, kind, threads, options, repetitions, progress, cell):
    cells = {}
    for name in made:
        program = made[name]
        environment = programs.VARIANTS[name].environment
        rounds = FEWEST_ROUNDS
        if not options.smoke:
            progress.at(f"{cell}, calibrating {name}")
            rounds = calibrate(program, threads, environment)
        cells[name] = lambda p=program, r=rounds, e=environment: programs.run(
            p, threads, r, TIMEOUT_S, e
        )
    total = repetitions * len(cells)
    return measure.in_turn(
        cells, repetitions, lambda n: progress.at(f"{cell}, run {n} of {total}"), CELL_BUDGET_S
    )


def microseconds(runs):
    figure = measure.median_figure(map(programs.per_round, runs))
    value = figure.value / 1e3
    digits = max(0, 2 - int(math.floor(math.log10(value)))) if value > 0 else 2
    return measure.Figure(value, figure.sign).text(f"{{:.{min(digits, 3)}f}}")


def summarize(report, kind, times, threads, runs, found, verdict):
    plain = {k: v.text("{:.4g}") if isinstance(v, measure.Figure) else v for k, v in found.items()}
    report.samples(runs, kind=kind, times=times, threads=threads)
    report.summary(
        kind=kind,
        times=times,
        threads=threads,
        verdict=verdict,
        ratios=plain,
        ns_per_round={
            v: {**measure.spread([programs.per_round(r).value for r in each]),
                "timeouts": sum(r.status == "timeout" for r in each)}
            for v, each in runs.items()
        },
        cpu_ns_per_round={
            v: measure.spread([programs.cpu_per_round(r).value for r in each])
            for v, each in runs.items()
        },
    )


def cell_row(kind, variants, times, runs, found, verdict):
    def show(figure):
        if figure is None:
            return "-"
        return figure.text("{:.0f}" if figure.value >= 100 else "{:.2f}")

    cpu = (
        measure.median_figure(
            measure.pair_ratios(runs["original"], runs["rewritten"], programs.cpu_per_round)
        )
        if "original" in runs and "rewritten" in runs
        else None
    )
    return (
        [f"{kind} {times}x", len(next(iter(runs.values())))]
        + [microseconds(runs[v]) if v in runs else "-" for v in variants]
        + [show(found["speedup"]), show(cpu), show(found["over_peer"]), found["peer"] or "-",
           show(found["no_notify"]), verdict]
    )


def main(tree, options, out):
    kinds = bench.choice(options.kinds, programs.kinds() + programs.bounded_kinds(), "kind")
    variants = bench.choice(options.variants, list(programs.VARIANTS), "variant")
    all_times = [int(t) for t in bench.choice(options.times, [str(t) for t in TIMES], "threads per CPU")]
    if options.smoke:
        all_times = all_times[:1]
        if not options.kinds:
            # The others differ in a number only.
            kinds = programs.kinds() + programs.bounded_kinds(programs.TRIES[:1])
    report = bench.Report("spin-loops", tree, out, {
        "smoke": options.smoke, "reps": options.reps, "target_s": TARGET_S,
        "fewest_rounds": FEWEST_ROUNDS, "timeout_s": TIMEOUT_S,
        "cell_budget_s": CELL_BUDGET_S,
    })
    progress = measure.Progress("spin-loops")
    rows = []
    for kind in kinds:
        progress.at(f"building {kind}")
        folder = os.path.join(out, "spin-loops")
        built = {}
        kind_variants = programs.variants_of(kind, variants)
        for name in kind_variants:
            variant = programs.VARIANTS[name]
            if variant.program not in built:
                built[variant.program] = programs.compile_program(tree, kind, variant, folder)
        made = {name: built[programs.VARIANTS[name].program] for name in kind_variants}
        for times in all_times:
            threads = min(times * bench.cpus(), 256)  # MAX_THREADS in harness.h
            repetitions = options.reps
            if times <= 1:
                repetitions = max(repetitions, verdicts.OWN_CPU_PAIRS)
            if options.smoke:
                repetitions = 1
            runs = measure_cell(made, kind, threads, options, repetitions, progress,
                                f"{kind} with {threads} threads")
            found, verdict = verdicts.judge(kind, times, runs)
            if options.smoke:
                verdict = "smoke"
            summarize(report, kind, times, threads, runs, found, verdict)
            rows.append(cell_row(kind, variants, times, runs, found, verdict))
    progress.end()
    report.content["machine"]["load_after"] = os.getloadavg()
    print(f"us a round, medians; {bench.cpus()} CPUs; Nx = N threads a CPU. Ratios are medians of pairs: "
          "speedup and CPU = original / rewritten,\nover peer = rewritten / best by hand, "
          "no-notify = without notifies / original.")
    bench.table(["wait", "pairs"] + variants + ["speedup", "CPU", "over peer", "best", "no-notify", "verdict"], rows)
    report.write()
    return 0
