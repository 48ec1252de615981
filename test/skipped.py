# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Why tests are skipped: what a feature of lit.cfg.py stands for, and what would give it."""

import re

# Feature: what is missing, and how to get it.
NEEDS = {
    "bazel": "Bazel: apt-get install bazel-bootstrap bazel-rules-java",
    "bpf": "root, and a kernel with BTF, for programs of BPF",
    "capstone": "Capstone: apt-get install libcapstone-dev, and configure again",
    "clang-format": "clang-format: apt-get install clang-format-22",
    "codechecker": "CodeChecker: pip install codechecker",
    "cpu-groups": "a control group in which CPU limits may be set",
    "dpkg-dev": "dpkg-shlibdeps: apt-get install dpkg-dev",
    "flang": "flang: apt-get install flang-22",
    "full": "a full run: ./dev test --full",
    "gdb": "gdb: apt-get install gdb",
    "go": "Go: apt-get install golang-go",
    "guest": "an emulator and a kernel for guests: ./dev bench blocking-sync-guest fetches both",
    "heap-churn-malloc": "a build with libvfmalloc.so: apt-get install libjemalloc-dev, and configure again",
    "heap-churn-malloc-patched": "this project's build of jemalloc, whose source comes by network",
    "host-x86_64": "an x86-64",
    "herd7": "herd7: ./dev herd7 builds it",
    "javac": "Java: apt-get install openjdk-17-jdk-headless",
    "linux-6.1": "sources of Linux 6.1: ./dev kernel-test fetches them",
    "linux-6.1-guest": "a patched Linux 6.1: ./dev kernel-test builds it",
    "linux-6.12": "sources of Linux 6.12: ./dev kernel-test fetches them",
    "llvm-19": "LLVM 19: ./dev build --llvm 19",
    "llvm-22": "LLVM 22: apt-get install llvm-22-dev",
    "manual": "manual pages: apt-get install help2man python3-shtab, and build again",
    "memory-groups": "a control group in which memory limits may be set",
    "mlir": "MLIR: apt-get install libmlir-22-dev mlir-22-tools, and configure again",
    "native": "a run on this processor itself, not under qemu-user",
    "openmp": "LLVM's OpenMP: apt-get install libomp-22-dev",
    "perf-events": "perf events: kernel.perf_event_paranoid of at most 2, and no seccomp filter",
    "preload": "a build with libvfpthread.so",
    "promtool": "promtool: apt-get install prometheus",
    "python-distributed": "pip, for build/test-venv",
    "python-ensurepip": "ensurepip: apt-get install python3-venv",
    "python-hypothesis": "hypothesis: apt-get install python3-hypothesis",
    "python-linters": "pip, for build/test-venv",
    "python-pygls": "pip, for build/test-venv",
    "qemu-series": "QEMU with the series: ./dev kernel-test NAME --qemu builds it",
    "root": "root",
    "runs-aarch64": "libraries and an emulator for AArch64: ./dev test --also aarch64",
    "rust-llvm-22": "cargo, and a rustc with LLVM 22",
    "rustc": "rustc: apt-get install rustc",
    "sanitizer": "a build with a sanitizer",
    "sanitizers": "a run on this processor itself, whose sanitizers Debian has",
    "site": "the generator of the site: ./dev site installs it",
    "spin-unmodified": "a build with libvfspin.so: apt-get install libcapstone-dev, and configure again",
    "systemd-analyze": "systemd-analyze: apt-get install systemd",
    "target-llvm-19": "a run for LLVM 19: ./dev test --llvm 19",
    "target-llvm-22": "a run for LLVM 22",
    "two-cpus": "two CPUs",
}
MISSING = re.compile(r"unavailable features: (.+)")


def reason(output):
    """Returns why lit has skipped a test with this output."""
    line = (output or "").strip().splitlines()[-1:] or ["no reason"]
    found = MISSING.search(line[0])
    if not found:
        return line[0]
    features = found[1].split(", ")
    return "; ".join(NEEDS.get(feature, feature) for feature in features)


def report(tests):
    """Returns one line for each reason, the most frequent first, and the tests below it. TESTS are (name, output)."""
    by_reason = {}
    for name, output in tests:
        by_reason.setdefault(reason(output), []).append(name.removeprefix("vfriendly :: "))
    lines = []
    for why, names in sorted(by_reason.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += [f"{len(names)} skipped for want of {why}:", f"  {' '.join(sorted(names))}"]
    return lines
