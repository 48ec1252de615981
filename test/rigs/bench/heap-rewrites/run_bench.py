# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as they are, and rebuilt with vf-heap-churn: allocations, shootdowns, calls, time, memory.

Both are built for the same optimization at the link, run in turn, and must give the same
result. Allocations and system calls are counted in runs of their own.

Below --src are cjson-*/, expat-*/ and zlib-*/, as `apt-get source cjson expat zlib` leaves them,
and parsec/ as test/rigs/corpus/README.md says. Other libraries are Debian's headers.
"""

import os
import re
import statistics

import bench
import measure
import programs
import calls
import watch

SENTENCE = "Programs without and with vf-heap-churn: allocations, shootdowns, calls, time, memory."
ALONE = False


def options(parser):
    parser.add_argument("--programs", metavar="P,...", help="only these")
    parser.add_argument("--src", metavar="DIR", help="where cjson-*/, expat-*/, zlib-*/ and parsec/ are")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="runs of each [%(default)s]")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="[%(default)s]")


def checked(one, what):
    if one.status == "failed":
        raise bench.Broken(f"{what}: {one.errors.strip()[-300:]}")
    return one


def result(program, ready, timeout):
    """What the program makes, to be compared."""
    words = [ready.command[0], *(program.same or program.little).split()]
    one = checked(measure.run(words, timeout, folder=ready.folder), words[0])
    if one.status == "timeout":
        raise bench.Broken(f"{words[0]}: no result within {timeout} s")
    if not program.compared:
        return one.output
    with open(os.path.join(ready.folder, program.compared), "rb") as file:
        return file.read()


def hold_together(program, ready, timeout):
    """What is not the same program in both variants is none to be measured."""
    results = [result(program, each, timeout) for each in ready.values()]
    if results[0] != results[1]:
        raise bench.Broken(f"{program.name}: another result with the plugin")


def allocations(ready, counter, timeout):
    """How often the program asks the heap for memory; None if it did not end."""
    one = checked(measure.run(ready.command, timeout, {"LD_PRELOAD": counter}, folder=ready.folder), ready.command[0])
    told = re.search(r'\{"allocations": (\d+)\}', one.errors)
    return int(told.group(1)) if told and one.status == "ok" else None


def repeat(ready, repetitions, timeout, at):
    """variant -> its Runs, each repetition with the shootdowns of an idle interval subtracted."""
    runs = {variant: [] for variant in ready}
    for repetition in range(repetitions):
        for variant, each in ready.items():
            at(f"{variant}, run {repetition + 1} of {repetitions}")
            runs[variant].append(checked(watch.run(each, timeout, {}), each.command[0]))
        quiet = watch.idle(max(each[-1].wall for each in runs.values()))
        for each in runs.values():
            watch.subtract(each[-1], quiet)
    return runs


def summary(runs):
    def of(value):
        return statistics.median(map(value, runs))

    return {**{key: of(lambda r: r.values[key]) for key in ("shootdowns", "mean_resident", "peak_resident")},
            "wall_s": of(lambda r: r.wall), "cpu_s": of(lambda r: r.cpu), "timeouts": sum(r.status == "timeout" for r in runs)}


def sites_text(done, left):
    """What was rewritten; or that nothing was, and why."""
    reasons = ", ".join(f"{n} as {why}" for why, n in left.most_common())
    changed = "; ".join(f"{n}: {what}" for what, n in done.most_common())
    return changed or "0 sites" + (f"; left: {reasons}" if reasons else "; no allocation is in sight of its loop")


def ratio(before, after):
    """How many times less; empty if there was none."""
    return f" ({before / after:.3g}x)" if before and after else ""


def shown(name, variant, row, first):
    def cell(key, form, scale=1.0):
        value = row.get(key)
        if value is None:
            return "-"
        bound = "> " if (key == "calls" and row.get("more")) or (key == "wall_s" and row["timeouts"]) else ""
        return bound + form.format(value * scale) + (ratio(first.get(key), value) if row is not first else "")

    return [name, variant, cell("allocations", "{:.0f}"), cell("shootdowns", "{:.0f}"), cell("calls", "{:.0f}"),
            cell("wall_s", "{:.2f}"), cell("cpu_s", "{:.2f}"), cell("mean_resident", "{:.1f}", 1e-6),
            cell("peak_resident", "{:.1f}", 1e-6), row.get("sites", "")]


HEADER = ["", "", "allocations", "shootdowns", "calls", "s", "CPU s", "mean MB", "peak MB", ""]


def prepare(tree, program, options, folder):
    """variant -> Ready; and what was rewritten."""
    src = options.src and os.path.abspath(options.src)
    files, flags = programs.at_hand(program, src, options.smoke)
    ready, said = programs.build(tree, program, files, flags, os.path.join(folder, program.name))
    if options.smoke:
        for each in ready.values():
            each.command[1:] = program.little.split()
    hold_together(program, ready, options.timeout)
    return ready, programs.sites(said)


def main(tree, options, out):
    names = bench.choice(options.programs, programs.PROGRAMS, "program")
    repetitions = 1 if options.smoke else options.reps
    if repetitions < 1:
        raise bench.Usage("--reps must be at least 1")
    if options.src and not os.path.isdir(options.src):
        raise bench.Usage(f"--src {options.src}: no such folder")
    if not options.smoke:
        bench.install(["strace"])
    folder = os.path.join(out, "heap-rewrites")
    os.makedirs(folder, exist_ok=True)
    counter = os.path.join(folder, "counter.so")
    bench.build([tree.tool("clang"), "-O2", "-Wall", "-shared", "-fPIC", os.path.join(programs.HERE, "counter.c"), "-o", counter])
    absent, lines = {}, []
    report = bench.Report("heap-rewrites", tree, out, {"smoke": options.smoke, "reps": repetitions, "absent": absent,
                                                       "left_out": [n for n in programs.PROGRAMS if n not in names]})
    progress = measure.Progress("heap-rewrites")
    print(f"{repetitions} runs of each in turn, medians, and how many times less than before; shootdowns without those of an idle\n"
          "interval as long; calls are those that take memory and so interrupt other CPUs")
    for name in names:
        progress.at(f"{name}, building")
        try:
            ready, (done, left) = prepare(tree, programs.PROGRAMS[name], options, folder)
        except programs.NotAtHand as error:
            if options.programs:
                raise bench.Usage(f"no {name}: {error}")
            absent[name] = str(error)
            continue
        runs = repeat(ready, repetitions, options.timeout, lambda what: progress.at(f"{name}, {what}"))
        report.samples(runs, program=name)
        found = {variant: summary(each) for variant, each in runs.items()}
        for variant, each in found.items():
            progress.at(f"{name}, {variant}, counted")
            each["allocations"] = allocations(ready[variant], counter, options.timeout)
            if not options.smoke:
                each.update(calls.run(ready[variant], {}))
        found["after"].update(sites=sites_text(done, left), rewritten=dict(done), left=dict(left))
        for variant, each in found.items():
            report.summary(program=name, variant=variant, **each)
            lines.append(shown(name if variant == "before" else "", variant, each, found["before"]))
    progress.end()
    bench.table(HEADER, lines)
    for name, why in absent.items():
        print(f"{name}: {why}")
    report.write()
    return 0
