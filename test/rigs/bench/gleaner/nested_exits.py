# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exits to the hypervisor for a round of work, without and with the daemon.

HLT: a vCPU becomes idle. ICR: it is woken by another, or interrupted.
"""

import statistics

from guests import TELL

# Pairs or threads, work and kind; the last computes and must not change.
WORKLOADS = ("1 2000 free", "1 20000 free", "2 2000 free", "4 1000000 busy")
# Without the daemon, threads have only to find their CPUs. Exits of threads that compute are counted for longer: a
# trial, which takes a second and more there, should not be most of the time.
SECONDS, BUSY_SECONDS, SETTLE_S = 1, 10, 2
ONE_THREAD = True
SHOWN = ("HLT", "ICR", "TSC_DEADLINE", "INTR", "all")
VARIANTS = ("alone", "gleaner")
SCRIPT = """
mount -t tracefs tracefs /sys/kernel/tracing
while read pairs work kind; do
  seconds={seconds}; [ $kind = busy ] && seconds={busy_seconds}
  /pingpong $seconds $work $pairs $kind {settle} || exit 1
  /gleaner run --explain {options} -- /pingpong $seconds $work $pairs $kind {warm_up} 2>/said || exit 1
  {tell}
done <<CELLS
{cells}
CELLS
"""
HEADER = ["exits a round", *(text for kind in SHOWN for text in (kind, "with")), "fewer, all", "rounds", "with", ""]


def run(rig, cpus, warm_up, options, report, workloads):
    """Each of the workloads runs once in each variant, both in the same boot: of several boots, if some break off. Returns
    the workloads that have no result."""

    def script(cells):
        return SCRIPT.format(options=" ".join(options), seconds=SECONDS, busy_seconds=BUSY_SECONDS, settle=SETTLE_S,
                             warm_up=warm_up, tell=TELL, cells="\n".join(cells))

    def heard(name, results):
        report.samples({v: [r] for v, r in zip(VARIANTS, results)}, cpus=cpus, workload=name)
        report.save()

    return rig.run_cells(cpus, workloads, script, len(VARIANTS), heard)


def per_round(record, workload):
    """Per second for threads that compute: their exits are those of the clock's ticks."""
    exits = record["exits"]
    found = {kind: exits["exit"].get(kind, 0) + exits["msr"].get(kind, 0) for kind in SHOWN}
    found["all"] = sum(exits["exit"].values())
    units = BUSY_SECONDS if workload.endswith("busy") else max(record["rounds"], 1)
    return {kind: n / units for kind, n in found.items()}


def table(report):
    """Medians over all boots of the report, in a row for each workload and number of vCPUs."""
    cells = {}
    for sample in report.content["samples"]:
        runs = cells.setdefault((sample["cpus"], sample["workload"]), {v: [] for v in VARIANTS})
        runs[sample["variant"]] += sample["runs"]
    rows, report.content["summary"] = [], []
    for (cpus, name), runs in sorted(cells.items()):
        medians = {v: {kind: statistics.median(per_round(r, name)[kind] for r in runs[v]) for kind in SHOWN} for v in VARIANTS}
        rounds = {v: statistics.median(r["rounds"] for r in runs[v]) for v in VARIANTS}
        fewer = [1 - per_round(b, name)["all"] / per_round(a, name)["all"] for a, b in zip(runs["alone"], runs["gleaner"])]
        report.summary(cpus=cpus, workload=name, boots=len(fewer), per_round=medians, rounds=rounds, fewer=fewer)
        rows.append([f"{cpus} vCPUs, {name}", *(f"{medians[v][kind]:.3f}" for kind in SHOWN for v in VARIANTS),
                     f"{statistics.median(fewer):.0%} ({min(fewer):.0%}..{max(fewer):.0%})",
                     *(f"{rounds[v]:.0f}" for v in VARIANTS), ""])
    return rows
