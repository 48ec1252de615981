# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exits of each workload, without paratick and with it, and what they are to be.

For seconds or for operations: what a guest does in a second depends on how fast it is
emulated, and ticks come with time, not with operations. Ratios are of medians.
"""

import statistics
from dataclasses import dataclass

# Variant -> what L2's command line has.
WORDS = {"off": "paratick=off", "on": "paratick=on"}
VARIANTS = tuple(WORDS)
# Besides, with --periodic: a guest whose timer expires by itself for each tick. Its ticks
# need no write of TSC_DEADLINE, and never stop.
PERIODIC = "periodic"
PERIODIC_WORDS = f"{WORDS['off']} nohz=off highres=off lapic=notscdeadline"
ALL = "all"
# Writes of MSRs are exits of the kind MSR as well.
EXITS = ("HLT", "INTR", "VINTR", "MSR", "IOIO", "NPF")
OTHER = "other"
MSRS = ("TSC_DEADLINE", "ICR")
SHOWN = (*EXITS, OTHER, *MSRS, ALL)
SECOND, OPERATION = "s", "op"
UNITS = {
    "busy": (SECOND,), "crowded": (SECOND,), "idle": (SECOND,), "mixed": (SECOND,),
    "sleeper": (SECOND, OPERATION), "pingpong": (OPERATION,), "io": (OPERATION,),
}


def count(run, kind):
    exits = run["exits"]
    total = sum(exits["exit"].values())
    if kind == ALL:
        return total
    if kind == OTHER:
        return total - sum(exits["exit"].get(k, 0) for k in EXITS)
    return exits["msr" if kind in MSRS else "exit"].get(kind, 0)


def rate(run, kind, unit):
    """None if it did nothing to divide by."""
    by = run["ops"] if unit == OPERATION else run["seconds"]
    return count(run, kind) / by if by else None


def median(runs, kind, unit):
    rates = [rate(run, kind, unit) for run in runs]
    return None if None in rates or not rates else statistics.median(rates)


def over(on, off):
    return None if on is None or not off else on / off


def text(value, digits=3):
    """Some digits that mean something, for a number of any size."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 10 ** digits else f"{value:.{digits}g}" if value else "0"


def summary(runs):
    """runs: variant -> list of runs of a cell. unit -> kind -> medians and their ratio."""
    workload = next(iter(runs.values()))[0]["workload"]
    found = {}
    for unit in UNITS[workload]:
        found[unit] = {}
        for kind in SHOWN:
            off, on = (median(runs[v], kind, unit) for v in VARIANTS)
            found[unit][kind] = {"off": off, "on": on, "ratio": over(on, off)}
            if PERIODIC in runs:
                found[unit][kind][PERIODIC] = median(runs[PERIODIC], kind, unit)
    return found


def vcpus(n):
    return f"{n} vCPU{'s' if n > 1 else ''}"


def cpus(n):
    return f"{n} CPU{'s' if n > 1 else ', on virtual time'}"


@dataclass(frozen=True)
class Ticks:
    """Exits a second for ticks: what formulas say, and what was counted."""

    load: float      # the share of the vCPUs' time that is not idle
    periodic: float  # a tick is two exits, on each vCPU
    tickless: float  # only of vCPUs that are not idle; each time they become, two more
    off: float       # writes of TSC_DEADLINE, and timer interrupts
    on: float


def ticks(runs, hz):
    """Schildermans' dissertation, section 6.2, for the runs without paratick."""
    def of(variant, what):
        return statistics.median(what(run) for run in runs[variant])

    def counted(run):
        return rate(run, "TSC_DEADLINE", SECOND) + run["loc"] / run["seconds"]

    n = runs["off"][0]["vcpus"]
    load = of("off", lambda run: max(0.0, 1 - run["idle_s"] / run["seconds"] / n))
    halts = of("off", lambda run: rate(run, "HLT", SECOND))
    return Ticks(load, 2 * n * hz, 2 * (load * n * hz + halts), of("off", counted), of("on", counted))


TICKS_HEADER = ["", "vCPUs", "load", "periodic", "tickless", "off", "on", ""]


def ticks_row(cell, found):
    return [*cell, text(found.load), *(text(v) for v in (
        found.periodic, found.tickless, found.off, found.on)), ""]


HEADER = ["", "vCPUs", "per", "", *SHOWN, ""]


def rows(cell, found):
    """Three lines: off, on, and the ratio; and one of periodic ticks, if they were measured."""
    workload, n = cell
    lines = []
    for unit, kinds in found.items():
        for which in (*VARIANTS, "ratio", *([PERIODIC] if PERIODIC in kinds[ALL] else [])):
            head = [workload, n, unit] if which == "off" else ["", "", ""]
            lines.append([*head, which, *(text(kinds[k][which]) for k in SHOWN), ""])
    return lines


@dataclass(frozen=True)
class Aim:
    workload: str
    vcpus: int
    kind: str
    unit: str
    most: float  # of off


AIMS = (
    Aim("busy", 1, "TSC_DEADLINE", SECOND, 0.02),
    Aim("busy", 1, ALL, SECOND, 0.5),
    *(Aim("pingpong", n, ALL, OPERATION, 0.55) for n in (2, 4)),
    *(Aim("io", n, ALL, OPERATION, 0.66) for n in (2, 4)),
    *(Aim("idle", n, ALL, SECOND, 1.0) for n in (1, 2, 4)),
)


def judge(cells):
    """cells: (workload, vcpus) -> summary. A dictionary for each aim."""
    verdicts = []
    for aim in AIMS:
        found = cells.get((aim.workload, aim.vcpus))
        figures = found[aim.unit][aim.kind] if found else {"off": None, "on": None, "ratio": None}
        ratio = figures["ratio"]
        verdict = "not measured" if ratio is None else "met" if ratio <= aim.most else "missed"
        verdicts.append({**vars(aim), **figures, "verdict": verdict})
    return verdicts


def verdict_line(verdict):
    what = "all exits" if verdict["kind"] == ALL else f"{verdict['kind']} writes"
    where = f"{verdict['workload']}, {vcpus(verdict['vcpus'])}: {what}"
    if verdict["ratio"] is None:
        return f"{verdict['verdict']}: {where}"
    return (f"{verdict['verdict']}: {where} {text(verdict['on'])} of {text(verdict['off'])} per "
            f"{verdict['unit']}, {verdict['ratio']:.3f}x; at most {verdict['most']}x")
