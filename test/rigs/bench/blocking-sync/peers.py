# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""vf_mutex and the locks it is held against: how to build them, how to judge them.

Shared by the benchmarks of blocking-sync on this machine and in guests.
"""

import glob
import math
import os
import statistics
import subprocess

import bench

OURS = "vf-mutex"
# name -> Debian package, further flags and C files
PEERS = {
    "pthread": (None, []),
    "pthread-adaptive": (None, []),
    "pthread-spin": (None, []),
    "atomic-wait": (None, []),
    # Static: an older libc++.so.1 may be found first.
    "atomic-wait-libcxx": ("libc++-22-dev", ["-stdlib=libc++", "-static-libstdc++"]),
    "nsync": ("libnsync-dev", ["-lnsync_cpp", "-lnsync"]),
    "abseil": ("libabsl-dev", ["-labsl_synchronization"]),
    "ck-ticket": ("libck-dev", ["ck.c"]),
    "ck-mcs": ("libck-dev", ["ck.c"]),
}


def numbers(text):
    """Type of an option that takes a list: 1,2,4."""
    return [int(n) for n in text.split(",")]


def named(text):
    """The peers of a --peers option."""
    return bench.choice(text, PEERS, "peer")


def static_flags(tree, name, flags):
    """Those of a program that runs where no libraries are. Debian has no static
    libnsync: that one needs its libraries brought along."""
    if name == "nsync":
        return flags
    if name == "abseil":
        # Archives do not say what they need in turn; there are sixty.
        one = subprocess.run([tree.tool("clang++"), "-print-file-name=libabsl_synchronization.a"],
                             capture_output=True, text=True).stdout.strip()
        every = sorted(glob.glob(os.path.join(os.path.dirname(one), "libabsl_*.a")))
        flags = ["-Wl,--start-group", *every, "-Wl,--end-group"]
    return ["-static", *flags]


def compile_locks(tree, names, out, static=False, defines=()):
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(out, exist_ok=True)
    programs = {}
    for name in names:
        programs[name] = os.path.join(out, name)
        flags = tree.link_flags() if name == OURS else list(PEERS[name][1])
        if static:
            flags = static_flags(tree, name, flags)
        for i, flag in enumerate(flags):
            if flag.endswith(".c"):
                flags[i] = f"{programs[name]}.o"
                bench.build([tree.tool("clang"), "-O2", "-c", os.path.join(here, "locks", flag),
                             "-o", flags[i]])
        bench.build([
            tree.tool("clang++"), "-std=c++20", "-O2", "-pthread", "-I", here,
            "-I", os.path.join(tree.source, "runtime", "include"),
            f'-DLOCK="locks/{name}.h"', *defines, os.path.join(here, "harness.cpp"),
            "-o", programs[name], *flags,
        ])
    return programs


def median(runs, key):
    return statistics.median(r.values[key] for r in runs)


def judge(runs, peers):
    """Throughput and CPU per operation against the best peer of each."""
    odd = {name: each[0::2] for name, each in runs.items()}
    even = {name: each[1::2] or each for name, each in runs.items()}
    fastest = max(peers, key=lambda p: median(odd[p], "ops_per_s"))
    thriftiest = min(peers, key=lambda p: median(odd[p], "cpu_ns_per_op"))

    def ratio(key, over, under):
        pairs = zip(even[over], even[under])
        return statistics.median(
            a.values[key] / max(b.values[key], 1e-9) for a, b in pairs
        )

    return {
        "fastest": fastest,
        "throughput": ratio("ops_per_s", OURS, fastest),
        "thriftiest": thriftiest,
        "cpu": ratio("cpu_ns_per_op", OURS, thriftiest),
        "p99_wait_us": median(even[OURS], "p99_wait_ns") / 1000,
        "jain": median(even[OURS], "jain"),
        "best_p99_wait_us": median(even[fastest], "p99_wait_ns") / 1000,
        "best_jain": median(even[fastest], "jain"),
    }


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))
