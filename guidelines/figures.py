#!/usr/bin/env python3
# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts the figures of one benchmark run into the page that shows them.

  ./dev bench spin-loops && guidelines/figures.py build/bench/spin-loops.json

replaces what stands between the page's two `figures` comments, so that no
figure there is ever typed. A page's second benchmark has comments of its own,
`figures of NAME`. Several files are parts of one table, with rows of their own.
"""
import json
import math
import os
import re
import statistics
import sys

from figures_common import digits, fail, read
from figures_gleaner import gleaner, gleaner_crowded, gleaner_guests, gleaner_jump
from figures_kernel import (paratick_beside, paratick_formulas, paratick_rates, paratick_totals, pv_shootdown)
from figures_limits import limits, openmp, redis, servers

KINDS = {
    "barrier-atomic": "barrier, atomic",
    "flag-volatile": "flag, volatile",
    "lock-ticket": "ticket lock",
    "lock-mcs": "MCS queue lock",
    "lock-tas": "test-and-set lock",
}
BY_HAND = ("pause", "yield", "futex", "pthread")


def microseconds(cell, variant):
    return digits(cell["ns_per_round"][variant]["median"] / 1000)


def spin_loops(report):
    yield ("Microseconds per iteration, in which each thread waits at least once; medians of one run of `./dev bench spin-loops` "
           f"on {report['machine']['cpus']} CPUs of a virtual\nmachine ({report['machine']['model']}), commit `{report['commit'][:10]}`. "
           "The best by hand is the best of PAUSE, yield, spin-then-futex and pthread.\n")
    yield "| wait | threads per CPU | original | rewritten | without libvfrt | without notifies | best by hand | original / rewritten |"
    yield "|---|---|---|---|---|---|---|---|"
    for cell in report["summary"]:
        if cell["kind"] not in KINDS:
            continue
        name = KINDS[cell["kind"]] if cell["times"] == 1 else ""
        # A pthread mutex keeps no order: no replacement for locks that do.
        peers = BY_HAND[:3] if cell["kind"] in ("lock-ticket", "lock-mcs") else BY_HAND
        best = min(peers, key=lambda p: cell["ns_per_round"][p]["median"])
        shown = [microseconds(cell, v) for v in ("original", "rewritten", "rewritten-alone", "no-notify", best)]
        shown[-1] += f" ({best})"
        yield f"| {name} | {cell['times']}x | " + " | ".join(shown) + f" | {float(cell['ratios']['speedup']):.3g} |"


def median(runs, key):
    return statistics.median(r[key] for r in runs)


# A lock that did nothing while it was measured would have no geometric mean: it is
# taken for one that did less than a run can show.
LEAST = {"ops_per_s": 1, "cpu_ns_per_op": 1e-3}


def against_best(cell, lock):
    """Throughput and CPU per operation of a lock over those of the best of the others,
    which the odd runs choose and the even ones are judged by."""
    others = [name for name in cell if name != lock]
    best = {
        "ops_per_s": max(others, key=lambda n: median(cell[n][0::2], "ops_per_s")),
        "cpu_ns_per_op": min(others, key=lambda n: median(cell[n][0::2], "cpu_ns_per_op")),
    }
    return {
        key: statistics.median(
            max(mine[key], LEAST[key]) / max(other[key], LEAST[key])
            for mine, other in zip(cell[lock][1::2], cell[name][1::2])
        )
        for key, name in best.items()
    }


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def cells_of(samples):
    """(threads, in, out, hogs) -> lock -> runs, and each of the four's values."""
    cells = {}
    for s in samples:
        where = (s["threads"], s["section_ns"], s["think_ns"], s["hogs"])
        cells.setdefault(where, {})[s["variant"]] = s["runs"]
    each = {k: sorted({c[i] for c in cells}) for i, k in enumerate(("threads", "in", "out", "hogs"))}
    return cells, each


def described(count, each):
    return (f"{count} cells of "
            f"{', '.join(map(str, each['threads']))} threads, {', '.join(map(str, each['in']))} ns in the lock, "
            f"{', '.join(map(str, each['out']))} ns out of it, {' or '.join(map(str, each['hogs']))} other threads that compute")


RATIOS = "throughput: geometric mean | worst cell | CPU per operation: geometric mean | worst cell |"


def ratios_row(cells, lock):
    ratios = [against_best(cell, lock) for cell in cells]
    fast = [r["ops_per_s"] for r in ratios]
    cpu = [r["cpu_ns_per_op"] for r in ratios]
    return f"{geometric(fast):.3f} | {min(fast):.2f} | {geometric(cpu):.3f} | {max(cpu):.2f} |"


def by_lock(cells):
    yield f"| lock | {RATIOS} Jain's index, mean | lowest |"
    yield "|---|---|---|---|---|---|---|"
    for lock in next(iter(cells.values())):
        jain = [median(cell[lock], "jain") for cell in cells.values()]
        yield f"| {lock} | {ratios_row(cells.values(), lock)} {statistics.fmean(jain):.2f} | {min(jain):.2f} |"


def by_threads(cells, each):
    yield f"\n| vf-mutex by threads | {RATIOS}\n|---|---|---|---|---|"
    for threads in each["threads"]:
        of = [cell for where, cell in cells.items() if where[0] == threads]
        yield f"| {threads} | {ratios_row(of, 'vf-mutex')}"


def hand_overs(report):
    turns = [row for row in report["summary"] if row["part"] == "turns"]
    yield (f"`./dev bench hand-overs` on {report['machine']['cpus']} CPUs of a virtual machine ({report['machine']['model']}), "
           f"commit `{report['commit'][:10]}`,\n{turns[0]['ns']['n']} runs with turns, {report['parameters']['wakes']} of each wait, medians.\n")
    yield "| loop | ns for a turn of both threads: min | first quartile | median | third quartile | max | median, rewritten / as written |"
    yield "|---|---|---|---|---|---|---|"
    for row in turns:
        ns = row["ns"]
        yield f"| {row['variant']} | " + " | ".join(f"{ns[key]:.0f}" for key in ("min", "q1", "median", "q3", "max")) + f" | {row['ratio']:.2f} |"
    yield ""
    yield "| wait | µs to wake up: futex | runtime | µs of CPU time for a wait: futex | runtime | runtime / futex |"
    yield "|---|---|---|---|---|---|"
    for row in report["summary"]:
        if row["part"] == "wakes":
            ways = row["futex"], row["vf"]
            cells = [f"{way[key]:.1f}" for key in ("latency_us", "cpu_us") for way in ways]
            yield f"| {row['ms']} ms | " + " | ".join(cells) + f" | {row['vf']['cpu_us'] / row['futex']['cpu_us']:.1f} |"


def blocking_sync(report):
    cells, each = cells_of(report["samples"])
    p = report["parameters"]
    yield (f"One run of `./dev bench blocking-sync` on {report['machine']['cpus']} CPUs of a virtual machine "
           f"({report['machine']['model']}),\ncommit `{report['commit'][:10]}`: {described(len(cells), each)}; "
           f"\n{p['reps']} runs of {p['ms']} ms each. Each lock is compared with the best other lock of each cell, "
           "which separate runs choose;\nthroughput above 1 and CPU below 1 are better. Jain's index: 1 is fair, 1/threads means that "
           "one thread ran alone.\n")
    yield from by_lock(cells)
    yield from by_threads(cells, each)


def blocking_sync_bounds(report):
    """A row for each bound: against the best of the locks that are not vf-mutex."""
    cells, each = cells_of(report["samples"])
    p = report["parameters"]
    yield (f"One run of `./dev bench blocking-sync --bounds {','.join(map(str, p['bounds']))}` on {report['machine']['cpus']} CPUs of a virtual "
           f"machine\n({report['machine']['model']}), commit `{report['commit'][:10]}`: {described(len(cells), each)};\n"
           f"{p['reps']} runs of {p['ms']} ms each, against the best of {', '.join(p['peers'].split(','))}.\n")
    yield f"| handed over after | {RATIOS} Jain's index, mean | lowest |"
    yield "|---|---|---|---|---|---|---|"
    ours = [f"vf-mutex@{bound}" for bound in p["bounds"]]
    for lock, bound in zip(ours, p["bounds"]):
        jain = [median(cell[lock], "jain") for cell in cells.values()]
        others = [{n: runs for n, runs in cell.items() if n == lock or n not in ours} for cell in cells.values()]
        yield f"| {bound} µs | {ratios_row(others, lock)} {statistics.fmean(jain):.2f} | {min(jain):.2f} |"


def blocking_sync_late(report):
    yield (f"One run of `./dev bench blocking-sync --late`, commit `{report['commit'][:10]}`, medians of {report['parameters']['reps']} runs.\n")
    yield "| lock | not acquired within 700 µs | sleep after the lock is free, µs | 90th percentile, µs |"
    yield "|---|---|---|---|"
    for row in report["summary"]:
        yield f"| {row['lock']} | {100 * row['late']:.0f} % | {row['then_us']:.0f} | {row['then_p90_us']:.0f} |"


def per_1000(runs, count):
    """Of that count for 1000 operations, the median over one lock's runs in one cell."""
    return statistics.median(1000 * count(r) / max(r["ops"], 1) for r in runs)


EXITS = {
    "sleeps": lambda r: r["sleeps"],
    "HLT": lambda r: r["exits"]["exit"].get("HLT", 0),
    "timer set": lambda r: r["exits"]["msr"].get("TSC_DEADLINE", 0),
    "IPI sent": lambda r: r["exits"]["msr"].get("ICR", 0),
    "interrupt": lambda r: r["exits"]["exit"].get("INTR", 0),
    "all exits": lambda r: sum(r["exits"]["exit"].values()),
}


def blocking_sync_guest(report):
    p = report["parameters"]
    if p["only"] or report.get("incomplete"):
        fail("only a part was measured: run ./dev bench blocking-sync-guest")
    samples = {(part, cpus): [s for s in report["samples"] if (s["part"], s["cpus"]) == (part, cpus)]
               for part, cpus in dict.fromkeys((s["part"], s["cpus"]) for s in report["samples"])}
    yield (f"One run of `./dev bench blocking-sync-guest` on {report['machine']['cpus']} CPUs ({report['machine']['model']}), commit "
           f"`{report['commit'][:10]}`, guest kernel `{report['kernel']}`.\n")
    for (part, cpus), of in samples.items():
        if part != "emulated":
            continue
        cells, each = cells_of(of)
        yield (f"Emulated guest with {cpus} vCPUs on those CPUs: {described(len(cells), each)};\n{p['reps']} runs of {p['ms']} ms each. "
               "CPU is what the guest believes to have had.\n")
        yield from by_lock(cells)
        yield from by_threads(cells, each)
        yield ""
    nested = [s for (part, _), of in samples.items() if part == "nested" for s in of]
    cells, each = cells_of(nested)
    locks = list(dict.fromkeys(s["variant"] for s in nested))
    cpus = " or ".join(str(c) for part, c in samples if part == "nested")
    yield (f"Guest with {cpus} vCPUs, nested in such a guest with 2: {described(len(nested) // len(locks), each)};\n{p['nested_reps']} runs of "
           f"{p['nested_ms']} ms each. Exits to the hypervisor for 1000 operations, means over the cells of their medians.\n"
           f"Guests that crashed, as happens in this emulator, and were restarted: {len(report['broke'])}.\n")
    yield "| lock | " + " | ".join(EXITS) + " |"
    yield "|---|" + "---|" * len(EXITS)
    for lock in locks:
        of = [s["runs"] for s in nested if s["variant"] == lock]
        yield f"| {lock} | " + " | ".join(f"{statistics.fmean(per_1000(r, e) for r in of):.2f}" for e in EXITS.values()) + " |"


def measured(report):
    return (f"One run of `./dev bench {report['name']}` on {report['machine']['cpus']} CPUs of a virtual machine "
            f"({report['machine']['model']}),\ncommit `{report['commit'][:10]}`, {report['parameters']['reps']} runs of each, medians")


def preload(report):
    """Ratios of libc over the preload, a row a primitive."""
    times = sorted({row["times"] for row in report["summary"]})
    cells = {(row["primitive"], row["times"]): row for row in report["summary"]}
    yield (f"{measured(report)} of pairs.\nTime and CPU time with libc, divided by those with `libvfpthread.so`: above 1 the library is faster. "
           "N x is N threads per CPU.\n")
    yield "| waits by | " + " | ".join(f"{t}x: time | CPU" for t in times) + " |"
    yield "|---|" + "---|---|" * len(times)
    for primitive in dict.fromkeys(row["primitive"] for row in report["summary"]):
        of = [cells[primitive, t] for t in times]
        yield f"| {primitive} | " + " | ".join(f"{c['wall_ratio']} | {c['cpu_ratio']}" for c in of) + " |"


def programs(report):
    yield (f"{measured(report)};\nbrackets have the median ratio of pairs, original divided by variant: above 1 the variant is faster.\n")
    yield "| program | threads | unit | original | preload | plugin | both |"
    yield "|---|---|---|---|---|---|---|"
    for name, threads in dict.fromkeys((r["program"], r["threads"]) for r in report["summary"]):
        of = {r["variant"]: r for r in report["summary"] if (r["program"], r["threads"]) == (name, threads)}
        for what, unit in (("wall", "s"), ("cpu", "CPU s")):
            figures = [f"{of['original'][f'{what}_s']['median']:.2f}"] + [
                f"{of[v][f'{what}_s']['median']:.2f} ({float(of[v][f'{what}_ratio']['median']):.2f})"
                for v in ("preload", "rewritten", "both")]
            yield f"| {name if what == 'wall' else ''} | {threads if what == 'wall' else ''} | {unit} | " + " | ".join(figures) + " |"


def programs_pairs(report):
    yield f"{measured(report)};\nratios are original divided by variant, medians of pairs with their quartiles.\n"
    yield "| program | threads | variant | s | original, s | ratio | CPU s | original, CPU s | ratio |"
    yield "|---|---|---|---|---|---|---|---|---|"
    first = {(r["program"], r["threads"]): r for r in report["summary"] if r["variant"] == "original"}
    for row in report["summary"]:
        if row["variant"] == "original":
            continue
        cells = []
        for what in ("wall", "cpu"):
            ratio = {key: float(row[f"{what}_ratio"][key]) for key in ("median", "q1", "q3")}
            cells += [f"{row[f'{what}_s']['median']:.2f}", f"{first[row['program'], row['threads']][f'{what}_s']['median']:.2f}",
                      f"{ratio['median']:.2f} ({ratio['q1']:.2f} to {ratio['q3']:.2f})"]
        yield f"| {row['program']} | {row['threads']} | {row['variant']} | " + " | ".join(cells) + " |"


def churn_cell(row):
    if row is None or "failed" in row:
        return "failed" if row else "-"
    count = "-" if row.get("calls") is None else ("> " if row["more"] else "") + str(row["calls"])
    need = f" ({row['over_need']:.2f}x)" if row["over_need"] else ""
    wall = ("> " if row["timeouts"] else "") + f"{row['wall_s']:.2f}"
    return f"{row['shootdowns']:.0f} / {count} / {row['mean_resident'] / 1e6:.1f}{need} / {wall}"


def heap_churn(report):
    p = report["parameters"]
    if p["left_out"]:
        fail(f"{' and '.join(p['left_out'])} left out: run ./dev bench heap-churn without --programs and --peers")
    cells = {(row["program"], row["allocator"]): row for row in report["summary"]}
    uncounted = sorted({program for (program, _), row in cells.items() if "failed" not in row and "calls" not in row})
    if uncounted:
        fail(f"calls of {' and '.join(uncounted)} not counted: run ./dev bench heap-churn --add --only calls")
    names = list(dict.fromkeys(name for _, name in cells))
    yield (f"{measured(report)} (fewer of long ones).\nEach cell has: shootdowns, less those of an idle interval of the same length / "
           "system calls that remove pages or access rights while several threads run /\nmean resident MB (divided by what the program needs, if known) / "
           "seconds. The benchmark's output has peaks, CPU time and all runs.\n")
    yield "| program | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for program in dict.fromkeys(program for program, _ in cells):
        yield f"| {program} | " + " | ".join(churn_cell(cells.get((program, name))) for name in names) + " |"
    yield ""
    for aim in report["aims"]:
        yield f"- {'unknown' if aim['met'] is None else 'met' if aim['met'] else 'missed'}: {aim['what']}"
    for name, why in p["absent"].items():
        yield f"- not measured, {name}: {why}"


def rewritten_cell(before, after, key, scale=1.0, form="{:.0f}"):
    def text(row):
        if row.get(key) is None:
            return "-"
        bound = "> " if key == "calls" and row["more"] or key == "wall_s" and row["timeouts"] else ""
        return bound + form.format(row[key] * scale)

    return f"{text(before)} → {text(after)}"


def heap_rewrites(report):
    p = report["parameters"]
    missing = [*p["left_out"], *p["absent"]]
    if missing:
        fail(f"{' and '.join(missing)} left out: run ./dev bench heap-rewrites --src DIR without --programs")
    cells = {(row["program"], row["variant"]): row for row in report["summary"]}
    yield (f"{measured(report)}, without → with the pass.\nAllocations are calls of malloc and similar functions; shootdowns are less those of an idle "
           "interval of the same length;\ncalls are system calls that remove pages or access rights while several threads run.\n")
    yield "| program | allocations | shootdowns | calls | s | CPU s | mean MB | peak MB | rewritten |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for program in dict.fromkeys(program for program, _ in cells):
        before, after = cells[program, "before"], cells[program, "after"]
        figures = [rewritten_cell(before, after, key) for key in ("allocations", "shootdowns", "calls")]
        figures += [rewritten_cell(before, after, key, form="{:.2f}") for key in ("wall_s", "cpu_s")]
        figures += [rewritten_cell(before, after, key, 1e-6, "{:.1f}") for key in ("mean_resident", "peak_resident")]
        yield f"| {program} | {' | '.join(figures)} | {after['sites']} |"


def dedup(report):
    """The steps of examples/dedup; also the plot of the page on blocking."""
    p = report["parameters"]
    yield (f"{measured(report)}, {p['bytes'] / 1e6:.0f} MB of {p['input']}.\nWaits are voluntary context switches, preempted are involuntary ones; "
           "shootdowns are less those of an idle interval of the same length;\nmemory calls are munmap, madvise, mprotect, mremap and brk.\n")
    if report["machine"]["load"][0] > report["machine"]["cpus"]:
        yield (f"The load average at the start was {report['machine']['load'][0]:.1f}: because of this other load, times mean little; "
               "counts are affected less.\n")
    yield "| threads per stage | step | s | CPU s | waits | preempted | shootdowns | futex calls | memory calls | peak MB |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for row in report["summary"]:
        figures = [f"{row['wall_s']:.2f}", f"{row['cpu_s']:.2f}", *(f"{row[k]:.0f}" for k in ("voluntary", "involuntary", "shootdowns")),
                   str(row["futex"]), str(row["memory"]), f"{row['peak_resident'] / 1e6:.0f}"]
        yield f"| {row['threads']} | {row['step']} | {' | '.join(figures)} |"
    yield ""
    for aim in report["aims"]:
        yield f"- {'met' if aim['met'] else 'missed'}: {aim['what']}"
    bars = [{"name": f"{row['step']}", "value": round(row["voluntary"])} for row in report["summary"] if row["threads"] == p["threads"][0]]
    plots = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plots")
    os.makedirs(plots, exist_ok=True)
    with open(os.path.join(plots, "dedup-waits.json"), "w") as file:
        json.dump({"title": f"Blocking waits of examples/dedup, {p['threads'][0]} threads per stage", "unit": "per run",
                   "command": "./dev bench dedup", "commit": report["commit"], "bars": bars}, file, indent=1)
        file.write("\n")


def dedup_guest(report):
    """Exits of the same steps."""
    p = report["parameters"]
    yield (f"One run of `./dev bench dedup --guest --src DIR` on {report['machine']['cpus']} CPUs ({report['machine']['model']}), commit "
           f"`{report['commit'][:10]}`: a guest of {p['guest_cpus']} vCPUs in an\nemulated machine of {p['host_cpus']}, "
           f"{p['bytes'] / 1e6:.0f} MB of input, {p['reps']} guests for each, medians. Exits are those of a whole run; the row `nothing` is a\n"
           f"process that packs an empty file. Guests that crashed, as happens in this emulator, and were restarted: {len(report['broke'])}.\n")
    kinds = ("HLT", "TSC_DEADLINE", "ICR", "INTR", "all")
    yield "| threads per stage | step | HLT | timer set | IPI sent | interrupt | all exits | waits |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in report["summary"]:
        yield f"| {row['threads']} | {row['step']} | {' | '.join(f'{row[k]:.0f}' for k in (*kinds, 'voluntary'))} |"
    yield ""
    for aim in report["aims"]:
        yield f"- {'met' if aim['met'] else 'missed'}: {aim['what']}"


def rebuilt(report):
    """A row for each program that was run."""
    ran = [row for row in report["summary"] if row["state"] == "run"]
    yield (f"{len(ran)} programs by `./dev rebuilt`, commit `{report['commit'][:10]}`. Newly failing tests pass without the passes, and "
           "with them\nfail in two runs.\n")
    yield "| program | version | tests | pass without | pass with | newly failing | heap rewrites | waits rewritten |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in ran:
        rewrites = row["rewrites"]
        yield (f"| {row['name']} | {row.get('version', '')} | {row['tests']} | {row['without']} | {row['with_passes']} | {len(row['only_without'])} | "
               f"{rewrites['vf-heap-churn']} | {rewrites['vf-spin-loops']} |")


# program of the benchmark -> how the page calls it, and its unit of work
POOLS = {
    "llama-prompt": "llama.cpp, a token of a prompt", "llama-generate": "llama.cpp, a generated token",
    "llama-gaps": "llama.cpp, a token every 10 ms", "llamaomp-prompt": "llama.cpp with OpenMP, a token of a prompt",
    "llamaomp-generate": "llama.cpp with OpenMP, a generated token", "keydb": "KeyDB's lock, a turn",
    "openblas": "OpenBLAS, dgemm of 160 x 160",
    "openblas-96": "OpenBLAS, dgemm of 96 x 96", "onnx": "ONNX Runtime's pool, a region", "eigen": "Eigen's pool, a region",
    "pthreadpool": "pthreadpool, a region", "marl": "marl, a region"}
POOL_VARIANTS = {"original": "original", "by flags": "by flags", "by hand": "by hand", "passive": "own option"}
BOTH = {"flags, passive": "own option, by flags"}


def pools(report):
    cells = {(row["size"], row["condition"]): row["us"] for row in report["summary"]}
    yield (f"Microseconds, medians of runs of `./dev bench pools` on {report['machine']['cpus']} CPUs of a virtual machine "
           f"({report['machine']['model']}), commit `{report['commit'][:10]}`;\nidle / beside as many threads that compute as there "
           "are CPUs. With OpenMP, by flags means libvfomp.so preloaded.\n")
    variants = {**POOL_VARIANTS, **(BOTH if any(set(BOTH) & set(us) for us in cells.values()) else {})}
    yield f"| program | threads | {' | '.join(variants.values())} |"
    yield f"|---|---|{'---|' * len(variants)}"
    counts = sorted({int(size.split()[1]) for size, _ in cells})
    for name, threads in ((name, threads) for name in POOLS for threads in counts):
        size = f"{name}, {threads} threads"
        if (size, "idle") not in cells and (size, "hogs") not in cells:
            continue
        shown = []
        for variant in variants:
            found = [cells.get((size, condition), {}) for condition in ("idle", "hogs")]
            values = [each.get(variant, each.get("preload") if variant == "by flags" else None) for each in found]
            shown.append(" / ".join("–" if value is None else digits(value) for value in values) if any(values) else "–")
        yield f"| {POOLS[name]} | {threads} | " + " | ".join(shown) + " |"


# report -> the page it is shown on, the comments that it is shown between, what renders it
TABLES = {
    "spin-loops": ("figures/spin-loops", "figures", spin_loops),
    "hand-overs": ("figures/spin-loops", "figures of hand-overs", hand_overs),
    "blocking-sync": ("figures/blocking-sync", "figures", blocking_sync),
    "blocking-sync-bounds": ("figures/blocking-sync", "figures of bounds", blocking_sync_bounds),
    "blocking-sync-late": ("figures/blocking-sync", "figures of late", blocking_sync_late),
    "preload": ("figures/blocking-sync", "figures of preload", preload),
    "programs": ("figures/blocking-sync", "figures of programs", programs),
    "programs-pairs": ("figures/blocking-sync", "figures of program pairs", programs_pairs),
    "blocking-sync-guest": ("figures/blocking-sync", "figures of blocking-sync-guest", blocking_sync_guest),
    "dedup": ("figures/blocking-sync", "figures of dedup", dedup),
    "dedup-guest": ("figures/blocking-sync", "figures of dedup-guest", dedup_guest),
    "heap-churn": ("figures/heap-churn", "figures", heap_churn),
    "heap-rewrites": ("figures/heap-churn", "figures of heap-rewrites", heap_rewrites),
    "gleaner": ("figures/gleaner", "figures", gleaner),
    "gleaner-long": ("figures/gleaner", "figures of long runs", gleaner),
    "gleaner-guests": ("figures/gleaner", "figures of guests", gleaner_guests),
    "gleaner-crowded": ("figures/gleaner", "figures of crowded", gleaner_crowded),
    "gleaner-jump": ("figures/gleaner", "figures of jump", gleaner_jump),
    "pools": ("guides/thread-pools", "figures", pools),
    "pools-inference": ("guides/thread-pools", "figures of inference", pools),
    "pools-llama": ("guides/thread-pools", "figures of llama.cpp", pools),
    "pools-onnx": ("guides/thread-pools", "figures of ONNX Runtime", pools),
    "limits": ("figures/cpu-limits", "figures of limits", limits),
    "openmp": ("figures/cpu-limits", "figures of openmp", openmp),
    "servers": ("figures/cpu-limits", "figures of servers", servers),
    "redis": ("figures/cpu-limits", "figures of redis", redis),
    "rebuilt": ("guides/tested", "figures of rebuilt", rebuilt),
    "paratick-virtual": ("figures/paratick", "figures", paratick_formulas),
    "paratick-6.12-virtual": ("figures/paratick", "figures of paratick-6.12-virtual", paratick_totals),
    "pv-shootdown-virtual": ("figures/pv-shootdown", "figures", pv_shootdown),
    "paratick-virtual-stop-first-sleep": ("figures/paratick", "figures of paratick-virtual-stop-first-sleep", paratick_beside),
    "paratick-6.12-virtual-stop-first-sleep": ("figures/paratick", "figures of paratick-virtual-stop-first-sleep",
                                               paratick_beside),
    "paratick-checks": ("figures/paratick", "figures of paratick-checks", paratick_rates),
    "paratick-6.12-checks": ("figures/paratick", "figures of paratick-6.12-checks", paratick_rates),
}


def main():
    if len(sys.argv) < 2:
        fail("usage: figures.py build/bench/NAME.json...")
    report, *others = map(read, sys.argv[1:])
    name = report["name"]
    report["commits"] = [report["commit"]]
    for path, other in zip(sys.argv[2:], others):
        if other["name"] != name or other["parameters"] != report["parameters"]:
            fail(f"{path}: of another benchmark, or of other parameters")
        again = [row.get("workload") for row in other["summary"]]
        report["summary"] = [r for r in report["summary"] if r.get("workload") not in again] + other["summary"]
        report["commits"].append(other["commit"])
    # A run of only these programs takes long, and has a table of its own.
    for only, table in (("onnx", "pools-onnx"), ("llama-", "pools-llama"), ("llama", "pools-inference")):
        if name == "pools" and all(row["size"].startswith(only) for row in report["summary"]):
            name = table
    if name == "gleaner" and report["parameters"]["seconds"] > 10:
        name = "gleaner-long"
    if name not in TABLES:
        fail(f"{sys.argv[1]}: no page shows {name}, only {' and '.join(TABLES)}")
    page, marks, render = TABLES[name]
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{page}.md")
    marks = re.compile(rf"(<!-- {marks}: begin -->\n).*?(<!-- {marks}: end -->\n)", re.S)
    with open(page) as file:
        text = file.read()
    if not marks.search(text):
        fail(f"{page} has no place for figures of {name}")
    new = "\n".join(render(report)) + "\n"
    with open(page, "w") as file:
        file.write(marks.sub(lambda m: m.group(1) + new + m.group(2), text))


if __name__ == "__main__":
    main()
