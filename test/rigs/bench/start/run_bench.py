# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a preloaded library adds to the start of a process, in time and page faults: /bin/true without and with it, in turn.

Nothing else of the process counts, so each is started by posix_spawn, which copies no memory.
"""

import os
import time

import bench
import measure

SENTENCE = "Microseconds and page faults that a preloaded library adds to the start of a process."
ALONE = False

COMMAND = "/bin/true"
# Libraries, and what turns on all that they do when they start.
LIBRARIES = {
    "libvfpthread.so": {},
    "libvfmalloc.so": {},
    "libvfomp.so": {},
    "libvfnuma.so": {"VF_NUMA": "interleave", "VF_NUMA_PIN": "core"},
}


def options(parser):
    parser.add_argument("--reps", type=int, default=1001, metavar="N", help="pairs [%(default)s]")


def once(environment):
    begin = time.perf_counter()
    child = os.posix_spawn(COMMAND, [COMMAND], environment)
    _, status, usage = os.wait4(child, 0)
    took = time.perf_counter() - begin
    if status:
        raise bench.Broken(f"{COMMAND} ended with status {status}")
    return took * 1e6, usage.ru_minflt


def main(tree, options, out):
    repetitions = 3 if options.smoke else options.reps
    if repetitions < 1:
        raise bench.Usage("--reps must be at least 1")
    report = bench.Report("start", tree, out, {"reps": repetitions, "smoke": options.smoke})
    rows = []
    for name, variables in LIBRARIES.items():
        path = os.path.join(tree.lib, name)
        if not os.path.exists(path):
            continue
        preloaded = {"LD_PRELOAD": path, **variables}
        pairs = [(once({}), once(preloaded)) for _ in range(repetitions)]
        without = measure.spread([a for (a, _), _ in pairs])
        added = measure.spread([b - a for (a, _), (b, _) in pairs])
        faults = measure.spread([b - a for (_, a), (_, b) in pairs])
        report.content["samples"].append({"library": name, "pairs_us_and_faults": pairs})
        report.summary(library=name, without_us=without["median"], added_us=added, added_faults=faults)
        rows.append(
            [
                name,
                f"{without['median']:.0f}",
                f"{added['median']:.1f}",
                f"{added['q1']:.1f}..{added['q3']:.1f}",
                f"{faults['median']:.0f}",
            ]
        )
    print(f"{repetitions} pairs, us, medians")
    bench.table(["", "without", "added", "quartiles", "faults added"], rows)
    report.write()
    return 0
