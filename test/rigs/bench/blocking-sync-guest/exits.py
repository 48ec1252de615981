# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exits to the hypervisor for 1000 operations of a lock.

Operations, not seconds: an emulator is slow at some things more than at others, but
how often a lock's threads sleep, wake and interrupt each other it changes little.
Ticks come with time, though: INTR and TSC_DEADLINE have a share of them, which for an
operation is larger the slower the machine.
"""

import statistics

import peers

# What a sleep and a wake-up cost: the CPU halts, its timer is set, another CPU sends
# an interrupt, the hypervisor takes one; hypercalls are how KVM's guests interrupt
# several CPUs and give way to one that was preempted.
SHOWN = ("HLT", "TSC_DEADLINE", "ICR", "INTR", "VMMCALL")
ALL = "all"


def total(exits):
    # Writes of MSRs are in there already, as exits of the kind MSR.
    return sum(exits["exit"].values())


def count(result, kind):
    exits = result.values["exits"]
    return total(exits) if kind == ALL else exits["exit"].get(kind, 0) + exits["msr"].get(kind, 0)


def per_1000(results, kind):
    return statistics.median(1000 * count(r, kind) / max(r.values["ops"], 1) for r in results)


def summary(results):
    """Medians of one lock in one cell."""
    sleeps = statistics.median(1000 * r.values["sleeps"] / max(r.values["ops"], 1) for r in results)
    return {"ops": peers.median(results, "ops"), "sleeps": sleeps,
            **{kind: per_1000(results, kind) for kind in (*SHOWN, ALL)}}


def judge(runs, names):
    """The fastest of the peers by the odd runs; the even ones of it and of ours."""
    odd = {name: each[0::2] for name, each in runs.items()}
    even = {name: each[1::2] for name, each in runs.items()}
    fastest = max(names, key=lambda p: peers.median(odd[p], "ops"))
    fewest = min(names, key=lambda p: per_1000(odd[p], ALL))
    return {"fastest": fastest, "fewest": fewest, "ours": summary(even[peers.OURS]),
            "of_fastest": summary(even[fastest]), "of_fewest": summary(even[fewest])}


def row(title, verdict):
    ours, fast, few = verdict["ours"], verdict["of_fastest"], verdict["of_fewest"]
    pairs = [f"{each[kind]:.2f}" for kind in SHOWN[:3] for each in (ours, fast)]
    return [title, f"{ours['ops'] / max(fast['ops'], 1):.2f}", verdict["fastest"], *pairs,
            f"{ours[ALL]:.2f}", f"{fast[ALL]:.2f}", f"{few[ALL]:.2f}", verdict["fewest"], ""]


HEADER = ["", "operations", "to", *(text for kind in SHOWN[:3] for text in (kind, "its")),
          "all exits", "its", "fewest", "of", ""]


def means(summaries):
    """Of one lock: means over the cells."""
    return {key: statistics.fmean(s[key] for s in summaries) for key in summaries[0]}
