# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exits to the hypervisor for a round of ping-pong, in a guest of a guest, without and with
the daemon. Counts only: the outer guest is emulated."""

import glob
import os
import sys

import bench

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from guest import initramfs, machine, nested, packages  # noqa: E402

# Pairs or threads, work and kind; the last computes and must not change.
WORKLOADS = ("1 2000 free", "2 2000 free", "1 20000 free", "4 1000000 busy")
# Without the daemon, threads have only to find their CPUs.
SECONDS, SETTLE_S = 1, 2
SAID = "the daemon: "
L1_CPUS = 2
STATIC = ("-std=gnu11", "-D_GNU_SOURCE", "-O2", "-static", "-pthread")
SHOWN = ("HLT", "ICR", "TSC_DEADLINE", "INTR", "VMMCALL")
SCRIPT = """
mount -t tracefs tracefs /sys/kernel/tracing
while read pairs work kind; do
  /pingpong {seconds} $work $pairs $kind {settle} || exit 1
  /gleaner run --explain {options} -- /pingpong {seconds} $work $pairs $kind {warm_up} 2>/said || exit 1
  tail -n 2 /said | while read line; do
    echo "{said}$line"
  done
done <<CELLS
{cells}
CELLS
"""


def static_gleaner(source, clang, out):
    """Guests have no libraries."""
    runtime = os.path.join(source, "runtime")
    bench.build([clang, *STATIC, "-I", runtime, "-I", os.path.join(runtime, "platform", "x86-64"),
                 *glob.glob(os.path.join(runtime, "gleaner", "*.c")),
                 os.path.join(runtime, "platform", "linux", "cpu_groups.c"), "-lm", "-o", out])
    return out


def prepare(tree, folder):
    inputs = os.path.join(os.path.dirname(os.path.abspath(nested.__file__)), "Inputs")
    here = os.path.dirname(os.path.abspath(__file__))
    pingpong = os.path.join(folder, "pingpong-guest")
    bench.build([tree.tool("clang"), *STATIC, "-I", inputs, '-DMARK="mark.h"', os.path.join(here, "pingpong.c"),
                 "-o", pingpong])
    return {"pingpong": pingpong,
            "gleaner": static_gleaner(tree.source, tree.tool("clang"), os.path.join(folder, "gleaner-guest"))}


def run(tree, folder, cpus, warm_up, options, report):
    cache = os.path.join(tree.build, "guest")
    qemu, kernel, busybox = packages.qemu(), packages.kernel(cache), packages.busybox(cache)
    files = prepare(tree, folder)
    vmm = nested.build_vmm(tree.tool("clang"), folder)
    script = SCRIPT.format(options=" ".join(options), seconds=SECONDS, settle=SETTLE_S, warm_up=warm_up, said=SAID,
                           cells="\n".join(WORKLOADS))
    initrd = nested.write(folder, kernel, busybox, vmm, cpus, files, script)
    counter = nested.Counter()
    lines = machine.boot(qemu, kernel.image, initrd, L1_CPUS, nested.L1_MEGABYTES, name=nested.L1,
                         seen=counter.line)
    nested.check(lines)
    for line in lines:
        if line.startswith(SAID):
            print(line, file=sys.stderr)
    rows = []
    for i, name in enumerate(WORKLOADS):
        pair = counter.results[2 * i:2 * i + 2]
        row = [f"{cpus} vCPUs, {name}"]
        counts = [{kind: sum(r["exits"]["exit"].values()) if kind == "all" else
                   r["exits"]["exit"].get(kind, 0) + r["exits"]["msr"].get(kind, 0)
                   for kind in (*SHOWN, "all")} for r in pair]
        rounds = [max(r["rounds"], 1) for r in pair]
        # A round of computing is as long as the program's own calibration made it: per ms.
        per = [1000 * SECONDS] * 2 if name.endswith("busy") else rounds
        for kind in (*SHOWN, "all"):
            row += [f"{c[kind] / n:.2f}" for c, n in zip(counts, per)]
        rows.append([*row, *map(str, rounds), ""])
        report.summary(cpus=cpus, workload=name, rounds=rounds, exits=counts)
    return rows


HEADER = ["exits a round (busy: a ms), without and with", *(text for kind in (*SHOWN, "all") for text in (kind, "")),
          "rounds", "", ""]
