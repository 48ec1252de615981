# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_probe.py SOURCE: groups of CPUs in matrices like those of real machines.

Their levels are the means of machines recorded in github.com/nviennot/core-to-core-latency, each
time with noise of a seed; some have CPUs in another order, or times that a busy CPU spoilt. The
answer has to be right for all seeds, or "unknown" where that is given.
"""

import os
import random
import sys

source, = sys.argv[1:]
sys.path.insert(0, os.path.join(source, "checkers", "cli"))

from vfriendly import probing  # noqa: E402

SEEDS = 20
UNKNOWN = None


def machine(rng, shape, levels, noise, depth, shuffled=False):
    """A matrix, and the parts at that depth. shape: how many parts each part has, outermost
    first; levels: ns between the parts of one, likewise."""
    places = [()]
    for parts in shape:
        places = [p + (n,) for p in places for n in range(parts)]
    if shuffled:
        rng.shuffle(places)

    def ns(a, b):
        common = next(i for i in range(len(shape)) if a[i] != b[i])
        return levels[common] * rng.uniform(1 - noise, 1 + noise)

    times = [[0.0] * len(places) for _ in places]
    for i, a in enumerate(places):
        for j, b in enumerate(places[:i]):
            times[i][j] = times[j][i] = ns(a, b)
    groups = {}
    for cpu, place in enumerate(places):
        groups.setdefault(place[:depth], []).append(cpu)
    return probing.Distances(list(range(len(places))), times), sorted(groups.values())


# Name, shape, levels, noise, and at which depth the parts are the groups; at 0 all CPUs are one.
CASES = (
    ("one socket", (8,), (48,), 0.1, 0),
    ("one socket, two threads a core", (16, 2), (48, 8), 0.15, 0),
    ("one socket, a mesh", (64,), (45,), 0.3, 0),
    ("two sockets", (2, 8), (120, 50), 0.1, 1),
    ("two sockets, two threads a core", (2, 16, 2), (141, 48, 8), 0.15, 1),
    ("two old sockets", (2, 6, 2), (74, 37, 7), 0.1, 1),
    ("two slow sockets", (2, 8), (441, 173), 0.2, 1),
    ("four sockets", (4, 6), (130, 45), 0.1, 1),
    ("four sockets, two threads a core", (4, 4, 2), (130, 45, 9), 0.1, 1),
    ("four sockets of which two are closer", (2, 2, 6), (210, 130, 45), 0.1, 2),
    ("chiplets", (8, 8, 2), (96, 24, 10), 0.1, UNKNOWN),
    ("two sockets with chiplets", (2, 8, 4, 2), (248, 110, 24, 9), 0.1, UNKNOWN),
    ("two sockets with chiplets, one thread a core", (2, 4, 4), (190, 95, 24), 0.1, UNKNOWN),
    ("pairs that share a cache", (16, 2), (84, 44), 0.05, UNKNOWN),
    ("noise only", (16,), (100,), 0.95, UNKNOWN),
    ("noise as large as the difference", (2, 8), (80, 60), 0.8, UNKNOWN),
)


def judge(name, distances, groups):
    """Returns whether the answer is right, having said if it is not."""
    found = probing.judged(distances)
    if found.groups != groups:
        print(f"WRONG: {name}: {found}")
    return found.groups == groups


wrong = 0
for case, shape, levels, noise, depth in CASES:
    for seed in range(SEEDS):
        for shuffled in (False, True):
            matrix, groups = machine(random.Random(seed), shape, levels, noise, depth, shuffled)
            wrong += not judge(f"{case}, seed {seed}", matrix, groups if depth is not UNKNOWN else [])
# A CPU that did other work is far from all.
for seed in range(SEEDS):
    matrix, groups = machine(random.Random(seed), (2, 8), (120, 50), 0.1, 1)
    busy = seed % 16
    for other in range(16):
        matrix.ns[busy][other] = matrix.ns[other][busy] = 900.0 + seed
    wrong += not judge(f"a busy CPU, seed {seed}", matrix, [])
# Numbers as the machine has them, not from 0.
matrix, groups = machine(random.Random(1), (2, 4), (120, 50), 0.1, 1)
sparse = probing.judged(probing.Distances([n * 3 for n in matrix.cpus], matrix.ns))
wrong += sparse.groups != [[0, 3, 6, 9], [12, 15, 18, 21]]
wrong += bool(probing.judged(probing.Distances([0, 1], [[0.0, 50.0], [50.0, 0.0]])).groups)
print(f"{len(CASES) + 3} kinds of matrices, {wrong} answers wrong")
sys.exit(wrong > 0)
