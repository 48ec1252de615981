# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the table has to show, and whether it does.

table: program -> allocator -> summary (run_bench.summary). What was not measured makes an
aim unknown, never met.
"""

import math
import statistics

from allocators import OURS

# Shootdowns fewer than that are chance: an idle machine has some tens in some seconds, in bursts.
FEW = 50
# To beat is to need 5 % less, of both.
BEATS = 0.95
RESIZES = 3
RESIDENT_OVER_NEED = 1.2
RETURNS_A_PEAK = 2
# A peak of figure 7.3 each 2 s.
PEAK_S = 2
SPEED = 0.95
# CPU time per operation, at most: of the best peer's, or of that of the peer named.
COSTS = {**{f"replace {size}": (None, 1.1) for size in (100, 1000, 20000, 200000)},
         **{name: ("glibc", 1.2) for name in ("fork", "start true", "start sh")}}


def beats(peer, ours):
    return (max(peer["shootdowns"], FEW) < BEATS * max(ours["shootdowns"], FEW)
            and peer["mean_resident"] < BEATS * ours["mean_resident"])


def fastest(seconds):
    """Of peers' times by repetition, the fastest in the first, third, fifth ..."""
    return min(seconds, key=lambda name: statistics.median(seconds[name][0::2]))


def speed(seconds):
    """How fast we are, as part of the fastest peer's speed: odd repetitions choose it, even
    ones compare. None if there is no even one, or something was not timed."""
    peers = {name: each for name, each in seconds.items() if name != OURS}
    whole = all(t is not None for each in seconds.values() for t in each)
    if not whole or not peers or OURS not in seconds or min(map(len, seconds.values())) < 2:
        return None
    best = fastest(peers)
    return statistics.median(theirs / mine for theirs, mine in zip(peers[best][1::2], seconds[OURS][1::2]))


def verdict(met):
    return "unknown" if met is None else "met" if met else "missed"


def nowhere_beaten(table):
    beaten = [f"{program}: {name}" for program, row in table.items() for name, peer in row.items()
              if name != OURS and OURS in row and beats(peer, row[OURS])]
    whole = table and all(OURS in row and len(row) > 1 for row in table.values())
    return False if beaten else True if whole else None, f"no peer beats ours in shootdowns and mean memory both: {', '.join(beaten) or 'none does'}"


def listing_72(row):
    what = "listing 7.2, shootdowns at most mimalloc's, peak memory at most glibc's"
    if not {OURS, "mimalloc", "glibc"} <= row.keys():
        return None, what
    ours, calm, lean = row[OURS], row["mimalloc"], row["glibc"]
    met = (max(ours["shootdowns"], FEW) <= max(calm["shootdowns"], FEW)
           and ours["peak_resident"] <= lean["peak_resident"])
    return met, (f"{what}: {ours['shootdowns']:.0f} and {calm['shootdowns']:.0f}, "
                 f"{ours['peak_resident'] / 1e6:.1f} and {lean['peak_resident'] / 1e6:.1f} MB")


def figure_72a(row):
    what = f"figure 7.2a, at most {RESIZES} resizes"
    ours = row.get(OURS, {})
    if ours.get("calls") is None:
        return None, what
    met = ours["calls"] <= RESIZES
    return (None if ours["more"] and met else met), f"{what}: {ours['calls']}"


def figure_73(name, row):
    what = f"{name.replace('-', ' ')}, mean resident at most {RESIDENT_OVER_NEED}x the need, at most {RETURNS_A_PEAK} returns a peak"
    ours = row.get(OURS, {})
    if not ours.get("over_need") or ours.get("returns") is None:
        return None, what
    peaks = max(1, ours["wall_s"] // PEAK_S)
    a_peak = ours["returns"] / peaks
    return (ours["over_need"] <= RESIDENT_OVER_NEED and a_peak <= RETURNS_A_PEAK,
            f"{what}: {ours['over_need']:.2f}x, {a_peak:.1f}")


def cost(name, row):
    peer, most = COSTS[name]
    what = f"{name}, CPU time per operation at most {most}x {peer or 'the best peer'}'s"
    ratio = speed({n: each["seconds"] for n, each in row.items() if peer is None or n in (peer, OURS)})
    return (None, what) if ratio is None else (1 / ratio <= most, f"{what}: {1 / ratio:.2f}x")


def fast(table):
    what = f"speed at least {SPEED}x of the fastest peer, geometric mean"
    each = [row[OURS]["speed"] for name, row in table.items() if name not in COSTS and OURS in row and row[OURS].get("speed")]
    if not each:
        return None, what
    mean = math.exp(statistics.fmean(map(math.log, each)))
    return mean >= SPEED, f"{what} of {len(each)} programs: {mean:.3f}"


def judge(table):
    """(met or None, what was seen) for every aim."""
    yield nowhere_beaten(table)
    yield listing_72(table.get("listing-7.2", {}))
    yield figure_72a(table.get("figure-7.2a", {}))
    for name in ("figure-7.3", "figure-7.3 x4"):
        yield figure_73(name, table.get(name, {}))
    for name in COSTS:
        yield cost(name, table.get(name, {}))
    yield fast(table)
