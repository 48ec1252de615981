# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that a guest releases, for its host to place anew.

L1 has two nodes with a CPU each, and L2 sees one; each of its two vCPUs stays on a node. A server
churns in memory that vCPU 0 has used before, by first touch in the guest alone, with the reports
of free pages that KVM has, and with the series: of the pages that it holds at the end, which are
on the node of their user?
"""

import itertools
import os
import statistics
from dataclasses import dataclass

import bench
from guest import Broken
from kernel.rig import Workload

SENTENCE = "Pages that a guest releases and its host places anew."
CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernel.config")
WORKLOADS = {
    "own": Workload((2,), "A server on both nodes maps and unmaps blocks of 4 to 64 KiB, each thread its own."),
    "shared": Workload((2,), "The same, and each thread unmaps what either has mapped."),
}
CHECKS = {}
QEMU = None
NODES = 2


@dataclass(frozen=True)
class Variant:
    offers: str  # environment of the VMM
    words: str   # command line of L2


VARIANTS = {
    "first touch": Variant("", ""),
    "reports": Variant("export BALLOON=1", ""),
    "series": Variant("export NUMA_QUEUE=1", "kvm_numa.policy=first-touch"),
}
SECONDS = 30
# That the server holds; vCPU 0 has used twice that, of 300 that are free after the guest's start.
MEGABYTES = 96
# Pages of 4 KiB: a huge one of the host is on one node, whoever uses its parts.
HOST = "echo never > /sys/kernel/mm/transparent_hugepage/enabled"
# A guest that waits for this machine is not stuck; one that is stuck says nothing for too long.
PATIENT = "nowatchdog rcupdate.rcu_cpu_stall_suppress=1"
# The warm-up and the questions after the end, in an emulated guest.
LIMIT_S = 180
# Pages on the node of their user, and calls for 1,000 released pages.
AIM_SHARE, AIM_CALLS = 0.95, 4
HEADER = ["server", "", "pages", "on the user's node", "of vCPU 0", "of vCPU 1", "released", "by the host",
          "moved", "calls for 1,000", "NPF", "exits in all", ""]


def found(run):
    """What a run tells."""
    exits = run["exits"]
    calls = exits.get("hypercall", {}).get("NUMA_RELEASE", 0)
    told, moved = (exits.get("counter", {}).get(f"numa_{what}", 0) for what in ("released", "moved"))
    return {
        "share": sum(run["right"]) / sum(run["pages"]),
        "shares": [right / pages for right, pages in zip(run["right"], run["pages"])],
        "pages": sum(run["pages"]), "released": run["released"], "by_host": told, "moved": moved,
        "calls": 1000 * calls / run["released"], "npf": exits["exit"].get("NPF", 0),
        "exits": sum(exits["exit"].values()),
    }


def verify(title, name, run):
    if "exits" not in run:
        raise Broken(f"{title}: the guest set no marks")
    if (found(run)["by_host"] > 0) != (name == "series"):
        raise Broken(f"{title}: the host released {found(run)['by_host']} pages by calls")


def row(server, name, runs):
    medians = {key: statistics.median(each[key] for each in runs)
               for key in ("share", "pages", "released", "by_host", "moved", "calls", "npf", "exits")}
    shares = [statistics.median(each["shares"][vcpu] for each in runs) for vcpu in range(NODES)]
    least, most = (f(each["share"] for each in runs) for f in (min, max))
    return medians, [server, name, f"{medians['pages']:.0f}", f"{100 * medians['share']:.1f} % ({100 * least:.1f} to {100 * most:.1f})",
                     *(f"{100 * s:.1f} %" for s in shares), f"{medians['released']:.0f}", f"{medians['by_host']:.0f}", f"{medians['moved']:.0f}",
                     f"{medians['calls']:.2f}", f"{medians['npf']:.0f}", f"{medians['exits']:.0f}", ""]


def main(rig, options, report):
    failures = report.content["failures"] = []
    seconds = options.seconds or SECONDS
    cells = {(server, name): [] for server in options.chosen for name in VARIANTS}
    for rep, ((server, name), runs) in itertools.product(range(options.reps), cells.items()):
        title = f"{server}, {name}, {rep + 1} of {options.reps}"
        try:
            run = rig.run(title, 2, f"sleep 1\n/churn {server} {seconds:g} {MEGABYTES} || exit 1\n", 1,
                          seconds + LIMIT_S, words=f"{PATIENT} {VARIANTS[name].words}".rstrip(), host_words=PATIENT,
                          outer=(f"{HOST}\n{VARIANTS[name].offers}", "")).results[0]
            verify(title, name, run)
        except Broken as error:
            failures.append(str(error))
            continue
        runs.append(found(run))
        report.content["samples"].append({"server": server, "variant": name, **run})
    rig.progress.end()
    lines = []
    for (server, name), runs in cells.items():
        if not runs:
            continue
        medians, line = row(server, name, runs)
        report.summary(server=server, variant=name, **medians)
        lines.append(line)
        if name == "series":
            report.content.setdefault("aims", []).extend((
                {"server": server, "what": "share", "met": medians["share"] >= AIM_SHARE},
                {"server": server, "what": "calls", "met": medians["calls"] <= AIM_CALLS}))
    print(f"pages of L2 in an emulated L1 of two nodes, medians of {options.reps} runs of {seconds:g} s")
    bench.table(HEADER, lines)
    for aim in report.content.get("aims", ()):
        what = (f"at least {100 * AIM_SHARE:g} % of pages on the node of their user" if aim["what"] == "share"
                else f"at most {AIM_CALLS} calls for 1,000 released pages")
        print(f"{'met' if aim['met'] else 'missed'}: {aim['server']}: {what}")
    report.content.update(rig.record())
    for line in [*failures, *rig.complained]:
        print(f"FAILED: {line}")
    if rig.broke:
        print(f"guests that broke off: {len(rig.broke)} of {len(rig.boots)}")
    report.write()
    return 1 if failures or rig.complained else 0
