# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""OpenMP programs with libvfomp.so: ./dev bench openmp [--conditions C,...] [--threads N,...] [--programs P,...]
[--ms N] [--reps N] [--add]

Microseconds for a parallel region, or another unit of work, with fixed settings of the OpenMP
runtime and with libvfomp.so preloaded. A run measures all numbers of threads, one after the
other, each after a time of its own that does not count: libvfomp.so decides within it."""

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


SMOKE_MS = 20


def options(parser):
    parser.add_argument("--conditions", metavar="C,...", default="idle,hogs,limit-1",
                        help="of idle, hogs, limit-CPUS [%(default)s]")
    parser.add_argument("--threads", metavar="N,...", default="1,2,4,8", help="[%(default)s]")
    parser.add_argument("--programs", metavar="P,...", default="gcc,clang",
                        help=f"of {', '.join(programs.NAMES)} [%(default)s]")
    parser.add_argument("--command", action="append", default=[], metavar="PROGRAM",
                        help="measure the time that it takes until its end, too")
    parser.add_argument("--ms", type=int, default=300, metavar="N",
                        help="milliseconds before and during a measurement [%(default)s]")
    parser.add_argument("--add", action="store_true", help="keep the cells of the last run")
    parser.add_argument("--reps", type=int, default=6, metavar="N", help="runs of each [%(default)s]")


def main(tree, options, out):
    where = conditions.usable(options.conditions.split(","))
    report = bench.Report("openmp", tree, out,
                          {"smoke": options.smoke, "ms": options.ms, "reps": options.reps})
    if options.add:
        report.add_to_last(varying=("reps",))
    os.makedirs(out, exist_ok=True)
    length = str(SMOKE_MS if options.smoke else options.ms)
    settings = {**SETTINGS, "libvfomp": {"LD_PRELOAD": os.path.join(tree.lib, "libvfomp.so")}}
    threads = options.threads.split(",")
    sizes = {}
    for name in bench.choice(options.programs, programs.NAMES, "program") if options.programs else []:
        command, environment = programs.made(name, tree, out)
        sizes[name] = [*command, length, *threads], environment
    for command in options.command:
        for n in threads:
            sizes[f"{os.path.basename(command)}, {n} threads"] = command.split(), {"OMP_NUM_THREADS": n}
    commands = {setting: lambda size, more=more: (size[0], {**size[1], **more})
                for setting, more in settings.items()}
    cells.run(report, sizes, where, commands, 1 if options.smoke else options.reps, "libvfomp", "default")
    report.write()
    return 0
