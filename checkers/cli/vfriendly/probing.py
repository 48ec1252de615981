# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds groups of CPUs that are close to each other, by the time that a cache line takes between two.

A virtual machine may have CPUs of several nodes without saying so. The times between all pairs of
CPUs form levels: threads of a core, cores of a socket, sockets. Clusters of CPUs are merged, the
closest first, by average linkage. A level ends where the next merge has a much greater distance.
The clusters of a level are the result if they can only be sockets; otherwise it is "unknown".
"""

import ctypes
import itertools
import math
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from vfriendly import tools
from vfriendly.errors import Refused

LIBRARY = "libvfprobe.so"

# Minimum ratio of the latencies of two levels, such as within a socket and between sockets. On the
# machines recorded in github.com/nviennot/core-to-core-latency it is 1.9 to 3.4 between sockets, and
# at most 1.3 within a socket without chiplets.
JUMP = 1.5
# A lower latency, in nanoseconds, means that two CPUs share a core or a chiplet's cache: it is 20 to
# 28 on the recorded machines with chiplets, and 35 to 57 between cores of a socket without chiplets.
CLOSE_NS = 32
# Maximum ratio of the 90th to the 10th percentile of the latencies that count as one level: 1.0 to
# 1.8 on the recorded machines, and 2.2 where cores are in pairs.
SPREAD = 2.5
# Minimum number of CPUs: two have only one latency, with nothing to compare it to.
LEAST_CPUS = 3

Groups = list[list[int]]


@dataclass(frozen=True)
class Distances:
    """Times in nanoseconds between CPUs of these numbers; ns is symmetric."""

    cpus: list[int]
    ns: list[list[float]]


@dataclass(frozen=True)
class Verdict:
    groups: Groups  # of CPU numbers; empty if unknown
    words: str


def judged(distances: Distances) -> Verdict:
    """Returns the groups of CPUs that are sockets or nodes, or why the times do not show them."""
    if len(distances.cpus) < LEAST_CPUS:
        return Verdict([], f"{len(distances.cpus)} CPUs have too few pairs to compare")
    levels = list(_levels(distances.ns))
    cores: Groups = []
    while levels and _are_cores(levels[0]):
        cores = levels.pop(0).groups
    if not levels:
        everything = [list(range(len(distances.cpus)))]
        return _verdict(distances, everything, cores)
    level = levels[0]
    inside = f"{level.inside:.0f} ns within groups and {level.outside:.0f} ns between"
    if level.inside < CLOSE_NS:
        return Verdict([], f"{inside} may be chiplets of one socket, or of several")
    if min(len(g) for g in level.groups) == 1:
        return Verdict([], f"a CPU is far from all others ({inside}): it may have been busy")
    if max(len(g) for g in level.groups) == 2:
        return Verdict([], f"groups of two ({inside}) may be cores that share a cache")
    if len({len(g) for g in level.groups}) > 1:
        return Verdict([], f"groups of different sizes ({inside}) may be kinds of cores")
    return _verdict(distances, level.groups, cores)


@dataclass(frozen=True)
class _Level:
    groups: Groups  # of indices
    inside: float  # the longest average distance at which they were merged
    outside: float  # that of the next merge


def _merges(ns: list[list[float]]) -> Iterator[tuple[float, Groups]]:
    """Yields the distance of each merge, and the clusters after the merge."""
    clusters = {i: [i] for i in range(len(ns))}
    apart = {(i, j): ns[i][j] for i, j in itertools.combinations(clusters, 2)}
    while apart:
        (i, j), distance = min(apart.items(), key=lambda item: item[1])
        del apart[i, j]
        here, there = len(clusters[i]), len(clusters[j])
        for k in clusters:
            if k not in (i, j):
                first, second = (min(i, k), max(i, k)), (min(j, k), max(j, k))
                apart[first] = (apart[first] * here + apart.pop(second) * there) / (here + there)
        clusters[i] = clusters[i] + clusters.pop(j)
        yield distance, sorted(sorted(c) for c in clusters.values())


def _levels(ns: list[list[float]]) -> Iterator[_Level]:
    inside = math.inf
    before: Groups = []
    for distance, groups in _merges(ns):
        if distance >= inside * JUMP:
            yield _Level(before, inside, distance)
        inside = distance if inside == math.inf else max(inside, distance)
        before = groups


def _are_cores(level: _Level) -> bool:
    """Returns True if the groups are the threads of a core each; some cores may have only one thread."""
    return level.inside < CLOSE_NS and max(len(g) for g in level.groups) == 2


def _verdict(distances: Distances, groups: Groups, cores: Groups) -> Verdict:
    """Returns the groups, unless the times within them, or between them, are too different for one level."""
    group_of = {cpu: number for number, group in enumerate(groups) for cpu in group}
    core_of = {cpu: number for number, core in enumerate(cores) for cpu in core}
    within, between = [], []
    for i, j in itertools.combinations(group_of, 2):
        if group_of[i] != group_of[j]:
            between.append(distances.ns[i][j])
        elif not cores or core_of[i] != core_of[j]:
            within.append(distances.ns[i][j])
    low, high = _tenths(within)
    if high > low * SPREAD:
        return Verdict([], f"times from {low:.0f} to {high:.0f} ns form no groups: the CPUs may have been busy")
    words = f"{statistics.median(within):.0f} ns"
    if between:
        if _tenths(between)[0] <= high:
            return Verdict([], "times within and between groups overlap: the CPUs may have been busy")
        words += f" within groups, {statistics.median(between):.0f} ns between"
    return Verdict([[distances.cpus[i] for i in group] for group in groups], words)


def _tenths(times: list[float]) -> tuple[float, float]:
    """Returns the 10th and the 90th percentile."""
    times = sorted(times)
    last = len(times) - 1
    return times[round(last * 0.1)], times[round(last * 0.9)]


def read(path: str) -> Distances:
    """Reads a matrix of nanoseconds: a line for each CPU, with times separated by commas or blanks.

    The time of a CPU to itself may be missing ("-", or nothing between commas), and so may one of the
    two times of a pair. If both are given, the shorter one is used.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: cannot be read: {error}") from None
    rows = [_row(line, f"{path}:{n}") for n, line in enumerate(text.splitlines(), 1)
            if line.strip() and not line.startswith("#")]
    if len(rows) < 2 or any(len(row) > len(rows) for row in rows):
        raise Refused(f"{path}: is no matrix: give a line for each CPU, with a time for each CPU")
    rows = [row + [math.inf] * (len(rows) - len(row)) for row in rows]
    ns = [[min(rows[i][j], rows[j][i]) for j in range(len(rows))] for i in range(len(rows))]
    missing = next(((i, j) for i, j in itertools.combinations(range(len(rows)), 2) if ns[i][j] == math.inf), None)
    if missing:
        raise Refused(f"{path}: has no time between CPUs {missing[0]} and {missing[1]}")
    return Distances(list(range(len(rows))), ns)


def _row(line: str, where: str) -> list[float]:
    words = [w.strip() for w in line.split(",")] if "," in line else line.split()
    try:
        times = [float(w) if w not in ("", "-") else math.inf for w in words]
    except ValueError:
        raise Refused(f"{where}: a time in nanoseconds is needed, or '-' for none") from None
    if any(math.isnan(t) or t <= 0 for t in times):
        raise Refused(f"{where}: a time is not a number above 0")
    return times


def matrix(distances: Distances) -> list[str]:
    """Returns the lines of a matrix that read() can read."""
    return [" ".join("-" if i == j else f"{t:.1f}" for j, t in enumerate(row)) for i, row in enumerate(distances.ns)]


def measure(library: str | None, at: Callable[[int, int], None]) -> Distances:
    """Measures all pairs of CPUs that this process may use. Calls at(done, all) to report progress."""
    path = tools.library(LIBRARY, library, "--library")
    try:
        probe = ctypes.CDLL(path).vf_probe_pair
    except (OSError, AttributeError) as error:
        raise Refused(f"{path}: cannot be used: {error}") from None
    probe.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_double)]
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Refused("this process may use one CPU, which has nothing to be compared with: start it on several")
    ns = [[0.0] * len(cpus) for _ in cpus]
    pairs = list(itertools.combinations(range(len(cpus)), 2))
    for done, (i, j) in enumerate(pairs):
        at(done, len(pairs))
        result = ctypes.c_double()
        failure = probe(cpus[i], cpus[j], ctypes.byref(result))
        if failure:
            raise Refused(f"CPUs {cpus[i]} and {cpus[j]} cannot be measured: {os.strerror(failure)}")
        ns[i][j] = ns[j][i] = result.value
    return Distances(cpus, ns)
