# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scheduler ticks by the hypervisor: what they save, and whether they are right.

L2 does some work, with paratick=off and without, in turn, the same kernel and in a fresh
pair of guests each time; L1 counts the exits.
"""

import os
from dataclasses import dataclass

import bench
import checks
import table
from guest import Broken

SENTENCE = "Exits of a guest that takes its ticks from the hypervisor."
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.config")

@dataclass(frozen=True)
class Workload:
    vcpus: tuple
    sentence: str

    def __str__(self):
        return self.sentence


# L1 has 2 CPUs.
WORKLOADS = {
    "busy": Workload((1, 2), "All vCPUs compute."),
    "crowded": Workload((4,), "The same with more vCPUs than CPUs."),
    "pingpong": Workload((2, 4), "Pairs of threads on two vCPUs wake each other by futex."),
    "sleeper": Workload((1, 2, 4), "Each vCPU sleeps for 2 ms at a time."),
    "io": Workload((2, 4), "A thread waits for requests that take 100 us."),
    "idle": Workload((1, 2, 4), "Nothing."),
    "mixed": Workload((2, 4), "Busy, pingpong and sleeper together."),
}
CHECKS = checks.CHECKS
SECONDS = 3

# A guest goes on booting for a while after init has begun.
SCRIPT = """
sleep 1
for w in {workloads}; do
  timeout -s KILL {limit} /workload $w {vcpus} {seconds} || {{ echo "$w: status $?"; exit 1; }}
done
"""
# A run is as long as it is told to be, and a guest that is slower than that is stuck.
LIMIT_S = 60
# What others may take of this machine; some work of the system's own is always there.
BUSY = 0.1


def script(names, vcpus, seconds):
    return SCRIPT.format(workloads=" ".join(names), vcpus=vcpus, seconds=seconds,
                         limit=int(seconds + LIMIT_S))


def verify(rig, title, variant, found):
    """What was to be compared was there, and was counted."""
    if not all("exits" in run for run in found):
        raise Broken(f"{title}: the guest set no marks")
    ticks = sum(run["ptk"] for run in found)
    if variant == "off" and ticks:
        raise Broken(f"{title}: the hypervisor delivered {ticks} ticks")
    if variant == "on" and rig.patched and not ticks and any(
            run["workload"] not in ("idle", "sleeper") for run in found):
        raise Broken(f"{title}: the hypervisor delivered no tick")


def measure(rig, options, vcpus, cells, failures):
    """Adds runs to cells: (workload, vcpus) -> variant -> runs."""
    seconds = options.seconds or SECONDS
    names = [n for n in options.chosen if vcpus in WORKLOADS[n].vcpus]
    if not names:
        return
    for rep in range(options.reps):
        for variant in table.VARIANTS:
            title = f"{table.vcpus(vcpus)}, {variant}, {rep + 1} of {options.reps}"
            found = rig.run(title, vcpus, script(names, vcpus, seconds), len(names), seconds,
                            words=table.WORDS[variant]).results
            verify(rig, title, variant, found)
            for name, run in zip(names, found):
                # A timer was lost: that has few exits, which are none to compare.
                if run["seconds"] > seconds + checks.LATE_S:
                    failures.append(f"{title}: {name} of {seconds:g} s took {run['seconds']:.3f} s")
                    continue
                runs = cells.setdefault((name, vcpus), {v: [] for v in table.VARIANTS})
                runs[variant].append(run)


def ordered(cells):
    """Those that can be compared, in the order of the table above."""
    return sorted((cell for cell, runs in cells.items() if all(runs.values())),
                  key=lambda cell: (list(WORKLOADS).index(cell[0]), cell[1]))


def costs(rig, options, report):
    """Prints the table and the verdicts; whether all was measured."""
    cells, failures = {}, report.content["failures"]
    for vcpus in (1, 2, 4):
        try:
            measure(rig, options, vcpus, cells, failures)
        except Broken as error:
            failures.append(str(error))
    rig.progress.end()
    found = {cell: table.summary(cells[cell]) for cell in ordered(cells)}
    of_ticks = {}
    for (workload, vcpus), each in found.items():
        for variant, runs in cells[workload, vcpus].items():
            report.content["samples"].append(
                {"workload": workload, "vcpus": vcpus, "variant": variant, "runs": runs})
        of_ticks[workload, vcpus] = table.ticks(cells[workload, vcpus], options.hz)
        report.summary(workload=workload, vcpus=vcpus, per=each, ticks=vars(of_ticks[workload, vcpus]))
    print(f"exits of L2 in an emulated L1 of 2 CPUs, medians of {options.reps} runs of "
          f"{options.seconds or SECONDS:g} s")
    bench.table(table.HEADER, [row for cell, each in found.items() for row in table.rows(cell, each)])
    print("\nexits a second for ticks, by formula and counted")
    bench.table(table.TICKS_HEADER, [table.ticks_row(*each) for each in of_ticks.items()])
    verdicts = table.judge(found)
    report.content["aims"] = verdicts
    print()
    for verdict in verdicts:
        if verdict["workload"] in options.chosen:
            print(table.verdict_line(verdict))
    for failure in failures:
        print(f"FAILED: {failure}")
    warn(run["others"] for runs in cells.values() for each in runs.values() for run in each)
    return not failures


def warn(others):
    """If what was measured is of a machine that had other work."""
    busiest = max(others, default=0)
    if busiest > BUSY:
        print(f"others took {busiest:.0%} of this machine's CPUs meanwhile: a guest that has to wait "
              "gets less ticks than it asks for")


def correctness(rig, options, report):
    """Prints what was found; whether all of it was as it should."""
    good = True
    for name in options.chosen:
        try:
            findings = CHECKS[name].run(rig, options)
        except Broken as error:
            findings = [checks.Finding(False, str(error))]
        rig.progress.end()
        for finding in findings:
            print(f"{'ok' if finding.good else 'FAILED'}: {name}: {finding.text}", flush=True)
            good &= finding.good
            report.content["samples"].append({"check": name, "good": finding.good, "text": finding.text,
                                              "values": finding.values})
    warn(each["values"].get("others", 0) for each in report.content["samples"])
    return good


def main(rig, options, report):
    report.content["failures"] = []
    good = (correctness if options.checks else costs)(rig, options, report)
    report.content.update(rig.record())
    for line in rig.complained:
        print(f"FAILED: {line}")
    if rig.broke:
        print(f"guests that broke off: {len(rig.broke)} of {len(rig.boots)}")
    report.write()
    return 0 if good and not rig.complained else 1
