# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenMP programs with libvfomp.so: ./dev bench openmp [--conditions C,...] [--threads N,...] [--programs P,...] [--reps N]

Microseconds for a parallel region, or another unit of work, with fixed settings of the OpenMP
runtime and with libvfomp.so preloaded."""

import os

import bench
import cells
import conditions
import programs

SENTENCE = "OpenMP regions and programs: fixed settings of the runtime, and libvfomp.so."
ALONE = True

# Of gcc's runtime. LLVM's knows OMP_WAIT_POLICY, too, and takes the others for nothing.
SETTINGS = {
    "default": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "short spin": {"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"},
}


def options(parser):
    parser.add_argument("--conditions", metavar="C,...", default="idle,hogs,limit-1",
                        help="of idle, hogs, limit-CPUS [%(default)s]")
    parser.add_argument("--threads", metavar="N,...", default="1,2,4,8", help="[%(default)s]")
    parser.add_argument("--programs", metavar="P,...", default="gcc,clang",
                        help=f"of {', '.join(programs.NAMES)} [%(default)s]")
    parser.add_argument("--reps", type=int, default=5, metavar="N", help="runs of each [%(default)s]")


def main(tree, options, out):
    where = conditions.usable(options.conditions.split(","))
    report = bench.Report("openmp", tree, out, {"conditions": where, "smoke": options.smoke})
    os.makedirs(out, exist_ok=True)
    for name in bench.choice(options.programs, programs.NAMES, "program"):
        command, environment = programs.made(name, tree, out, options.smoke)
        settings = {**SETTINGS, "libvfomp": {"LD_PRELOAD": os.path.join(tree.lib, "libvfomp.so")}}
        commands = {
            setting: lambda threads, more=more: (command, {**environment, **more, "OMP_NUM_THREADS": threads,
                                                           "OPENBLAS_NUM_THREADS": threads})
            for setting, more in settings.items()
        }
        print(name, flush=True)
        cells.run(report, {f"{name}, {n} threads": n for n in options.threads.split(",")}, where, commands,
                  1 if options.smoke else options.reps, "libvfomp", "default")
    report.write()
    return 0
