# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chooses which pages of a process to move to which node, by samples of accesses to them.

After Carrefour (Voron's PhD thesis, 2018, sections 4.1 and 5.1; Dashti et al., ASPLOS 2013), which
moves a hot page to the node of its users if they are on one, and spreads the pages that several
nodes use. The kernel's automatic
NUMA balancing also moves pages to a node that accesses them alone, but may be slow to do so, or
may have given up. A page that several nodes access would be moved to and fro by the kernel; this
module moves it once, so that such pages are spread evenly over the nodes. It does not replicate
pages: Linux cannot.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vfriendly import numa

# Minimum number of samples of a hot page. The thesis requires more than two.
HOT = 3
# Maximum number of samples kept for a page. Older ones are dropped, so that a page becomes private
# again after its thread has moved to another node.
REMEMBERED = 6
# Maximum number of times that one page is sent to the node that uses it. A page whose user changes more often
# is moved by the kernel or not at all.
MOST_HOME = 3
# Minimum number of hot shared pages to balance, 1 MiB: fewer put no load on a node.
LEAST_PAGES = 256
# Maximum number of moves, as a multiple of the moves needed to spread all hot shared pages if they
# lie on one node. The kernel moves pages at the same time, so without a limit balancing might never
# end.
MOST_MOVES = 1.2


@dataclass
class Balancer:
    """Collects samples, and chooses moves that leave the hot shared pages evenly on the nodes."""

    nodes: Sequence[int]  # that may have pages of the process
    order: random.Random = field(default_factory=random.Random)
    _seen: dict[int, list[int]] = field(default_factory=dict)
    _moved: dict[int, int] = field(default_factory=dict)
    _sent_home: Counter[int] = field(default_factory=Counter)
    _at_home: dict[int, int] = field(default_factory=dict)
    _is_moving: bool = False

    def sample(self, page: int, node: int) -> None:
        """Notes an access to a page from a CPU of a node."""
        accesses = self._seen.setdefault(page, [])
        accesses.append(node)
        if len(accesses) > REMEMBERED:
            del accesses[0]

    def shared(self) -> list[int]:
        """Returns the hot pages that several nodes access."""
        return [page for page, nodes in self._seen.items() if len(nodes) >= HOT and len(set(nodes)) > 1]

    def owned(self) -> dict[int, int]:
        """Returns the hot pages that one node accesses, if it may have pages, with this node."""
        return {page: nodes[0] for page, nodes in self._seen.items()
                if len(nodes) >= HOT and len(set(nodes)) == 1 and nodes[0] in self.nodes}

    def astray(self) -> list[int]:
        """Returns the pages of owned() that were not seen at their user's node: only these need a look."""
        return [page for page, home in self.owned().items() if self._at_home.get(page) != home]

    def homes(self, where: Mapping[int, int], most: int) -> dict[int, int]:
        """Chooses at most `most` pages that are on another node than the one that uses them, with this node."""
        chosen: dict[int, int] = {}
        for page, home in self.owned().items():
            if len(chosen) >= most:
                break
            if where.get(page) == home:
                self._at_home[page] = home
            elif page in where and self._sent_home[page] < MOST_HOME:
                chosen[page] = home
        return chosen

    def sent_home(self, homes: Mapping[int, int]) -> None:
        """Records that these were sent, moved or not: pages that stay busy are not tried for ever.

        Their samples stay, so that a page which several nodes use is still found to be shared.
        """
        self._sent_home.update(homes.keys())

    def imbalance(self, where: Mapping[int, int]) -> float:
        """Returns the imbalance of hot shared pages between nodes in per cent. where: the node of each page."""
        here = Counter(where.values())
        counts = [float(here[n]) for n in self.nodes]
        return numa.imbalance(counts) if any(counts) else 0.0

    def is_even(self, where: Mapping[int, int]) -> bool:
        """Returns True if there are enough hot shared pages, and no reason to begin to move any."""
        low, _ = numa.thresholds(len(self.nodes))
        return len(where) >= LEAST_PAGES and self.imbalance(where) <= low / 2

    def moves(self, where: Mapping[int, int], most: int) -> dict[int, int]:
        """Chooses at most `most` pages to move, and a node for each.

        Begins if the imbalance is above half of the limit of a low one, so that pages that were not seen
        yet keep it low, and goes on until no node has two pages more than another. Moves a page once. If
        the kernel moves pages back, no others are moved instead, because the two would never end:
        nothing is moved if the pages would be spread evenly without the moves of the kernel.
        """
        low, _ = numa.thresholds(len(self.nodes))
        made = {page: self._moved.get(page, node) for page, node in where.items()}
        if len(where) < LEAST_PAGES:
            return {}
        if not self._is_moving and min(self.imbalance(where), self.imbalance(made)) <= low / 2:
            return {}
        needed = len(where) * (1 - 1 / len(self.nodes))
        most = min(most, int(MOST_MOVES * needed) - len(self._moved))
        count, count_made = Counter(where.values()), Counter(made.values())
        movable: dict[int, list[int]] = {n: [] for n in self.nodes}
        for page, node in sorted(where.items()):
            if node in movable and page not in self._moved:
                movable[node].append(page)
        for pages in movable.values():
            self.order.shuffle(pages)
        chosen: dict[int, int] = {}
        while len(chosen) < most:
            fullest = max(self.nodes, key=lambda n: count[n])
            emptiest = min(self.nodes, key=lambda n: count[n])
            more = min(count[fullest] - count[emptiest], count_made[fullest] - count_made[emptiest])
            if more < 2 or not movable[fullest]:
                break
            chosen[movable[fullest].pop()] = emptiest
            for counter in (count, count_made):
                counter[fullest] -= 1
                counter[emptiest] += 1
        self._is_moving = 0 < most == len(chosen)
        return chosen

    def done(self, moves: Mapping[int, int], moved: Mapping[int, int]) -> None:
        """Records which of the chosen moves were made. The other pages need new samples before a move."""
        self._moved.update(moved)
        for page in moves.keys() - moved.keys():
            self._seen.pop(page, None)
