# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How often the holder of a vf_mutex loses its CPU, and how often others wait for such a one, without and with
the longer time slices of Linux 7.0: in a guest of one emulated CPU, whose time is counted instructions.

No kernel of Debian's has the option. --kernel FILE is a bzImage of the package linux-source-7.2 (Debian unstable), configured by
make allnoconfig KCONFIG_ALLCONFIG=kernel.config with the file that lies here. An instruction takes 8 ns there, so the
5 us by which Linux extends a slice are the work of a fraction of a microsecond; --extensions has others."""

import os
import re
import sys

import bench
import measure

HERE = os.path.dirname(os.path.abspath(__file__))
# Last: that folder has more than what is wanted of it.
sys.path.append(os.path.join(HERE, "..", ".."))
from guest import Broken, initramfs, machine, packages  # noqa: E402

SENTENCE = "Holders of a vf_mutex that lose their CPU, without and with longer time slices, in a guest of Linux 7."
ALONE = False
MEGABYTES, TIMEOUT_S = 512, 60
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}
STATS = "/sys/kernel/debug/rseq"


def numbers(text):
    return [int(word) for word in text.split(",")]


def options(parser):
    parser.add_argument("--kernel", metavar="FILE", help="a bzImage with CONFIG_RSEQ_SLICE_EXTENSION")
    parser.add_argument("--threads", type=int, default=4, metavar="N", help="[%(default)s]")
    parser.add_argument("--steps", type=numbers, default=[50, 200], metavar="N,...", help="of work in the lock, and as many out of it")
    parser.add_argument("--extensions", type=numbers, default=[5000, 20000], metavar="NS,...", help="by how much the kernel extends a slice")
    parser.add_argument("--ms", type=int, default=1000, help="length of a run [%(default)s]")
    parser.add_argument("--reps", type=int, default=3, metavar="N", help="runs of each [%(default)s]")


def values(line):
    return {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", line)}


def in_guest(tree, options, program, folder):
    """(extension, steps) -> VF_SLICE -> what each run printed."""
    cells = [(e, s) for e in options.extensions for s in options.steps]
    script = [f"export {key}={value}" for key, value in ENVIRONMENT.items()] + ["mount -t debugfs debug /sys/kernel/debug", "uname -r"]
    for extension, steps in cells:
        script.append(f"echo {extension} > {STATS}/slice_ext_nsec")
        for _ in range(options.reps):
            script += [f"VF_SLICE={mode} slices {options.threads} {steps} {steps} {options.ms}" for mode in ("off", "on")]
    initrd = initramfs.write(os.path.join(folder, "guest.cpio"), packages.busybox(os.path.join(tree.build, "guest")), {"bin/slices": program},
                             "\n".join(script) + "\n")
    progress = measure.Progress("slices")
    try:
        lines = machine.boot(packages.qemu(), options.kernel, initrd, 1, MEGABYTES, virtual=True, seen=progress.at)
    except Broken as error:
        raise bench.Broken(str(error))
    progress.end()
    print(f"Linux {lines[0]}, {options.threads} threads on one emulated CPU, {options.reps} runs of {options.ms} ms each")
    runs = iter([values(line) for line in lines if "holds=" in line])
    found = {}
    for cell in cells:
        found[cell] = {"off": [], "on": []}
        for _ in range(options.reps):
            for mode in ("off", "on"):
                found[cell][mode].append(next(runs))
    return found


def mean(runs, key):
    return sum(run[key] for run in runs) / len(runs)


def main(tree, options, out):
    folder = os.path.join(out, "slices")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, "slices")
    runtime = os.path.join(tree.source, "runtime")
    platform = os.path.join(runtime, "platform", os.uname().machine.replace("_", "-"))
    bench.build([tree.tool("clang"), "-std=gnu11", "-O2", "-Wall", "-Wextra", "-static", "-I", runtime, "-I", os.path.join(runtime, "include"), "-I", platform,
                 os.path.join(HERE, "slices.c"), os.path.join(tree.lib, "libvfrt.a"), "-lpthread", "-o", program])
    if options.smoke:  # On this machine's kernel, which need not have slices.
        one = measure.run([program, "4", "50", "50", "50"], TIMEOUT_S, {**ENVIRONMENT, "VF_SLICE": "on"})
        if one.status != "ok":
            raise bench.Broken(f"slices: {one.status} {one.output}{one.errors}")
        print(f"slices: {'some' if values(one.output)['holds'] else 'no'} sections")
        return 0
    if not options.kernel:
        raise bench.Usage("--kernel FILE: see run_bench.py for how to build one")
    report = bench.Report("slices", tree, out, {k: v for k, v in vars(options).items() if k != "out"})
    rows = []
    for (extension, steps), modes in in_guest(tree, options, program, folder).items():
        if not all(run["available"] for run in modes["on"]):
            raise bench.Broken("this kernel has no longer slices: CONFIG_RSEQ_SLICE_EXTENSION")
        for mode, runs in modes.items():
            report.summary(extension_ns=extension, steps=steps, slice=mode, runs=runs)
            # Of a million sections: there are more of them in a run with slices.
            lost, waited = (1e6 * mean(runs, key) / mean(runs, "holds") for key in ("lost", "waited"))
            rows.append([f"{extension / 1000:g} us, {steps} steps", mode, f"{mean(runs, 'holds'):.0f}", f"{lost:.0f}", f"{waited:.0f}",
                         f"{mean(runs, 'granted'):.0f}", ""])
    bench.table(["slice longer by, section", "VF_SLICE", "sections", "holders preempted, of a million", "waits for such a one", "released in a granted slice", ""],
                rows)
    report.write()
    return 0
