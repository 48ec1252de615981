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
import drop_ins

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


def packages(names):
    """Those of Debian that peers need."""
    return sorted({package for name in names for package in
                   (drop_ins.PACKAGES.get(name, []) if name in drop_ins.NAMES else [PEERS[name][0]])} - {None})


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


def with_bound(microseconds):
    """The name of vf_mutex with another bound of its hand-over."""
    return f"{OURS}@{microseconds}"


def bounded_mutex(tree, microseconds, out):
    """An object that stands before the same one of libvfrt.a."""
    runtime = os.path.join(tree.source, "runtime")
    platform = os.path.join(runtime, "platform", os.uname().machine.replace("_", "-"))
    bench.build([tree.tool("clang"), "-O2", f"-DVF_HAND_OVER_NS={int(microseconds) * 1000}u",
                 f"-I{runtime}", f"-I{runtime}/include", f"-I{platform}",
                 "-c", os.path.join(runtime, "blocking-sync", "mutex.c"), "-o", out])
    return out


def compile_locks(tree, names, out, static=False, defines=(), source=None):
    """A program for each lock; names with @ are with_bound's. source: of those of FlexGuard's repository."""
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(out, exist_ok=True)
    programs = {}
    for name in names:
        programs[name] = os.path.join(out, name)
        lock, _, bound = name.partition("@")
        header = f"locks/{lock}.h"
        if name in drop_ins.NAMES:
            flags, header = drop_ins.build(tree, name, source, f"{programs[name]}.build"), drop_ins.LOCK
        elif bound:
            flags = [bounded_mutex(tree, bound, f"{programs[name]}.o"), os.path.join(tree.lib, "libvfrt.a")]
        else:
            flags = tree.link_flags() if lock == OURS else list(PEERS[lock][1])
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
            f'-DLOCK="{header}"', *defines, os.path.join(here, "harness.cpp"),
            "-o", programs[name], *flags,
        ])
    return programs


def median(runs, key):
    return statistics.median(r.values[key] for r in runs)


def judge(runs, peers, ours=OURS):
    """Throughput and CPU per operation of ours against the best peer of each."""
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
        "throughput": ratio("ops_per_s", ours, fastest),
        "thriftiest": thriftiest,
        "cpu": ratio("cpu_ns_per_op", ours, thriftiest),
        "p99_wait_us": median(even[ours], "p99_wait_ns") / 1000,
        "jain": median(even[ours], "jain"),
        "best_p99_wait_us": median(even[fastest], "p99_wait_ns") / 1000,
        "best_jain": median(even[fastest], "jain"),
    }


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values)))
