# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What libvfrt's mutex gains by /dev/vcpu_state in L2.

One program takes turns: with the device, with it but nothing counts as preempted, and
without. So what this machine does besides is spread over all three.
"""

import os
import statistics

INPUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "locks", "locks.c")
WRAP = "-Wl,--wrap=vf_vcpu_is_preempted"
# vCPUs -> what is wanted of spins, used / ignored, and of sections, used / absent: at most,
# and at least.
WANTED = {4: (0.2, 1.0), 8: (0.2, 1.0), 2: (None, 0.95)}
# What must hold on a virtual clock, or the hint has no effect: spins, used / ignored, are less.
NO_EFFECT = 0.5
PHASES = 15
VARIANTS = ("absent", "ignored", "used")


def per_phase(results, key):
    """variant -> one value for each phase."""
    return {v: [key(r) for r in results if r["variant"] == v] for v in VARIANTS}


def ratio(values, one, other):
    """The median of the phases' ratios, each with the one beside it."""
    return statistics.median(a / b if b else 1.0 for a, b in zip(values[one], values[other]))


def check_locks(rig, options):
    """A mutex of libvfrt that threads on all vCPUs take: spins while the holder is preempted, and sections."""
    rig.compile_with_runtime(INPUT, WRAP)
    phases = int(options.seconds or PHASES)
    for vcpus, (most, least) in WANTED.items():
        results = rig.run(f"locks, {vcpus} vCPUs", vcpus, f"sleep 1\n/locks {vcpus} {phases}\n",
                          phases * len(VARIANTS), phases * len(VARIANTS)).results
        rates = per_phase(results, lambda r: r["sections"] / r["seconds"])
        spins = {v: sum(r["saw_preempted"] for r in results if r["variant"] == v)
                 / max(sum(r["sections"] for r in results if r["variant"] == v), 1) for v in VARIANTS}
        fewer = spins["used"] / spins["ignored"] if spins["ignored"] else None
        gain = ratio(rates, "used", "absent")
        met = gain >= least and (most is None or fewer is not None and fewer <= most)
        spun = "no spin" if fewer is None else f"{fewer:.2f}x ({1000 * spins['ignored']:.3g} to {1000 * spins['used']:.3g} a thousand)"
        wrong = sum(r["sections"] - r["alone"] for r in results)
        # A lost wake-up ends in no result. What is gained is an aim, but spins are a count where
        # the clock is virtual.
        right = not wrong and all(r["sections"] for r in results)
        if rig.host_cpus == 1:
            right &= fewer is not None and fewer < NO_EFFECT
        yield (right, f"{'met' if met else 'missed'}, {vcpus} vCPUs: spins a section while the holder is preempted {spun}; "
               f"sections {gain:.3f}x those without the device, {ratio(rates, 'ignored', 'absent'):.3f}x if it is read in vain; "
               f"{wrong} sections were not alone", {"vcpus": vcpus, "phases": results, "spins": spins, "gain": gain})
