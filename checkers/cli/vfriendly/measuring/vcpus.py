# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Time by CPU: how long a program ran on each, spun there and waited for it, and what the host took of it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from vfriendly.measuring.profile import ON_CPU, Timed
from vfriendly.measuring.samples import NO_CPU

Rows = dict[str, dict[str, float | None]]


def rows(timed: Iterable[Timed], cpu_s: float, delays: Mapping[int, float], delay_s: float | None,
         steal: Mapping[int, float], looked: Mapping[int, float], spins_known: bool) -> Rows:
    """Returns the rows of Profile.by_cpu.

    Where the program ran is that of its samples, or of looks at its threads: both are shares of its CPU time, `cpu_s`,
    as the delays are of `delay_s`. Each cause has the time of its samples, not scaled, so spinning has, too.
    """
    run, spun = defaultdict[int, float](float), defaultdict[int, float](float)
    for t in timed:
        if t.stack.what in ON_CPU and t.cpu != NO_CPU:
            run[t.cpu] += t.stack.seconds
            spun[t.cpu] += t.stack.seconds if t.stack.what == "spin" else 0
    spins_known &= bool(run)
    ran, waited = _shares(run or looked, cpu_s), _shares(delays, delay_s or 0)
    return {str(cpu): {"run_s": ran.get(cpu, 0.0), "spin_s": spun[cpu] if spins_known else None,
                       "delay_s": None if delay_s is None else waited.get(cpu, 0.0), "steal_s": steal.get(cpu)}
            for cpu in sorted({*ran, *waited})}


def _shares(parts: Mapping[int, float], whole: float) -> dict[int, float]:
    """Returns the parts that are not 0, scaled to the whole: less would be that of other processes."""
    some = sum(parts.values())
    return {cpu: part * max(1.0, whole / some) for cpu, part in parts.items() if part}


def missing(found: Rows) -> list[str]:
    """Returns what is not known, and what would show it. Why no spin is known is said of the whole program."""
    lines = []
    if any(row["delay_s"] is None for row in found.values()):
        lines.append("how long threads waited for a CPU: the program was too short for a look at it, or the kernel has "
                     "no /proc/PID/schedstat (CONFIG_SCHED_INFO): BPF counts it")
    if any(row["steal_s"] is None for row in found.values()):
        lines.append("steal: /proc/stat has had none since the start of this virtual machine, or none of these CPUs: "
                     "look on the host, at the time in which its vCPUs could run and had no CPU")
    return lines
