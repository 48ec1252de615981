# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A guest with more vCPUs than its host has CPUs, beside others that compute: rounds with all
vCPUs, confined by hand to as many as there are CPUs, and with the daemon.

The host gives the guest and the others equal shares, as libvirt does: each is a cgroup. The guest
sees that as steal time.
"""

import statistics

from guests import TELL

CPUS, ONE_THREAD = 4, False
# One second after its start, the program made 13,100 rounds a second on all vCPUs, and 18,700 after 40 s.
SECONDS, SETTLE_S = 4, 20
# Program, its arguments between the seconds and the warm-up, and the daemon's options.
METRIC = "--metric-calls /locks:done"
WORKLOADS = {"mutex": ("locks", "4 mutex 3000 3000", METRIC), "ticket": ("locks", "4 ticket 3000 3000", METRIC),
             "mutex-user-time": ("locks", "4 mutex 3000 3000", ""), "computing": ("pingpong", "1000000 4 busy", "")}
VARIANTS = ("four vCPUs", "two vCPUs", "gleaner")
BEFORE = """
mkdir -p /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
echo +cpu > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/others /sys/fs/cgroup/guest
for hog in 1 2; do
  (echo 0 > /sys/fs/cgroup/others/cgroup.procs; exec sh -c 'while :; do :; done') &
done
"""
PREFIX = """sh -c 'echo 0 > /sys/fs/cgroup/guest/cgroup.procs; exec "$@"' -"""
CELL = """
/{program} {seconds} {arguments} {settle} || exit 1
taskset 3 /{program} {seconds} {arguments} {settle} || exit 1
/gleaner run --explain {options} -- /{program} {seconds} {arguments} {warm_up} 2>/said || exit 1
{tell}
"""
HEADER = ["rounds a second", *VARIANTS, "ratio", "lowest..highest", ""]


def run(rig, name, warm_up, options, report, _):
    """One boot, in which the workload runs once in each variant."""
    program, arguments, metric = WORKLOADS[name]
    script = CELL.format(program=program, arguments=arguments, seconds=SECONDS, settle=SETTLE_S, warm_up=warm_up,
                         options=" ".join([metric, *options]), tell=TELL)
    results = rig.run(CPUS, f"mount -t tracefs tracefs /sys/kernel/tracing\n{script}", before=BEFORE, prefix=PREFIX)
    report.samples({v: [r] for v, r in zip(VARIANTS, results)}, workload=name)


def table(report):
    """Medians over all boots of the report, in a row for each workload."""
    cells = {}
    for sample in report.content["samples"]:
        runs = cells.setdefault(sample["workload"], {v: [] for v in VARIANTS})
        runs[sample["variant"]] += [r["rate"] for r in sample["runs"]]
    rows, report.content["summary"] = [], []
    for name, runs in cells.items():
        ratios = [with_it / alone for alone, with_it in zip(runs[VARIANTS[0]], runs["gleaner"])]
        rates = {v: statistics.median(runs[v]) for v in VARIANTS}
        report.summary(workload=name, rates=rates, ratios=ratios)
        rows.append([name, *(f"{rates[v]:.1f}" for v in VARIANTS), f"{statistics.median(ratios):.2f}",
                     f"{min(ratios):.2f}..{max(ratios):.2f}", ""])
    return rows
