# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_balance.py SOURCE: which pages `vfriendly numa balance` moves, of processes that exist as
dictionaries only, on two and four nodes."""

import os
import random
import sys

source, = sys.argv[1:]
sys.path.insert(0, os.path.join(source, "checkers", "cli"))

from vfriendly import balancing, numa  # noqa: E402

SHARED, PRIVATE, RATE = 4000, 3000, 500
SECONDS = 60
failures = 0


def check(condition, words):
    global failures
    if not condition:
        failures += 1
        print(f"WRONG: {words}")


class Process:
    """Pages by node, and nodes by page that access it: all for shared ones, one for private."""

    def __init__(self, nodes, shared, private, on=0):
        self.nodes, self.rng = nodes, random.Random(1)
        self.balancer = balancing.Balancer(range(nodes), random.Random(2))
        self.users = {page: range(nodes) for page in range(shared)}
        self.users.update({shared + i: [i % nodes] for i in range(private)})
        self.where = {page: on if on is not None else page % nodes for page in self.users}
        self.moved = []

    def second(self, busy=()):
        """Each page is sampled with a probability of one half; busy ones cannot be moved."""
        for page, users in self.users.items():
            if self.rng.random() < 0.5:
                self.balancer.sample(page, self.rng.choice(users))
        where = {page: self.where[page] for page in self.balancer.shared()}
        moves = self.balancer.moves(where, RATE)
        done = {page: node for page, node in moves.items() if page not in busy}
        check(len(moves) <= RATE, f"{len(moves)} moves in a second")
        check(all(len(self.users[page]) > 1 for page in done), "a private page moves")
        check(all(self.where[page] != node for page, node in done.items()), "a page moves to its own node")
        before = self.balancer.imbalance(where)
        check(not done or self.balancer.imbalance({**where, **done}) < before, "a second makes it worse")
        self.balancer.done(moves, done)
        self.where.update(done)
        self.moved.append(len(done))

    def imbalance(self):
        pages = [node for page, node in self.where.items() if len(self.users[page]) > 1]
        return numa.imbalance([float(pages.count(n)) for n in range(self.nodes)])


for nodes in (2, 4):
    low, _ = numa.thresholds(nodes)
    process = Process(nodes, SHARED, PRIVATE)
    check(process.imbalance() > 0.9 * 100 * (nodes - 1) ** 0.5, "the process begins even")
    for _ in range(SECONDS):
        process.second()
    misplaced = SHARED * (nodes - 1) / nodes
    check(process.imbalance() <= low, f"{nodes} nodes: the imbalance stays {process.imbalance():.1f} %")
    check(sum(process.moved) <= 1.2 * misplaced, f"{nodes} nodes: {sum(process.moved)} moves")
    check(not any(process.moved[SECONDS // 2:]), f"{nodes} nodes: is never quiet: {process.moved}")

# What is even, private, small or elsewhere already is left alone.
for words, process in (("even pages", Process(2, SHARED, 0, on=None)), ("private pages", Process(2, 0, PRIVATE)),
                       ("few pages", Process(2, balancing.LEAST_PAGES - 1, PRIVATE))):
    for _ in range(SECONDS):
        process.second()
    check(not any(process.moved), f"{words} move")

# A kernel that takes pages back is not fought against.
process = Process(2, SHARED, PRIVATE)
for _ in range(SECONDS):
    process.second()
    for page in process.where:
        if process.rng.random() < 0.1:
            process.where[page] = 0
check(sum(process.moved) <= 1.2 * SHARED / 2, f"moves again and again: {sum(process.moved)}")
check(not any(process.moved[SECONDS // 2:]), "is never quiet")

# A kernel that moves pages to and fro makes none of ours harmful.
process = Process(2, SHARED, PRIVATE)
for _ in range(SECONDS):
    process.second()
    for page in process.where:
        if process.rng.random() < 0.2:
            process.where[page] = process.rng.choice(process.users[page])
check(process.imbalance() <= numa.thresholds(2)[0], "the kernel's moves confuse ours")

# Pages that stay busy hold up no others.
process = Process(2, SHARED, 0)
stuck = set(range(0, SHARED, 10))
for _ in range(SECONDS):
    process.second(stuck)
check(process.imbalance() <= numa.thresholds(2)[0], "busy pages hold up others")

# A thread that moves from one node to the other leaves private pages.
balancer = balancing.Balancer([0, 1])
for node in [0] * 10 + [1] * balancing.REMEMBERED:
    balancer.sample(4096, node)
check(balancer.shared() == [], "a page whose thread moved is shared")
print(f"balance: {failures} wrong")
sys.exit(failures > 0)
