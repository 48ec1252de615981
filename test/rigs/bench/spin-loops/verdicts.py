# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the rewrite has to reach, and whether a cell's runs reach it.

A judgement that timeouts leave open is "unknown", never "ok".
"""

import programs
from measure import median_figure, pair_ratios

# With four and more threads a CPU, where waiting costs time slices, the
# rewrite is to be this much faster than the loop as written.
CROWDED = 4
SPEEDUP = 50
SPEEDUP_KINDS = ("barrier-volatile", "barrier-atomic", "flag-volatile", "flag-atomic", "lock-ticket")
# As soon as threads exceed CPUs, at most this much slower than the best wait
# written by hand, whichever that is on this machine.
OVER_PEER = 1.2
# The same for a bounded spin, from CROWDED on: 0.8 of the best one's speed.
BOUNDED_OVER_PEER = 1.25
# The time to give up with nobody coming, as part of the original's, with a CPU
# for each thread.
GIVE_UP = (0.9, 1.1)
# With a CPU for each thread, at least this part of the original's speed, by
# the median of so many pairs.
OWN_CPU = 0.95
OWN_CPU_PAIRS = 21
# Without notifies the waits end by timeout alone; at most this much slower
# than the original in any cell.
NO_NOTIFY = 1.1

# These promise an order that a pthread mutex does not keep: it is shown beside
# them but is not a replacement for them.
ORDERED_KINDS = ("lock-ticket", "lock-mcs")


def peers_of(kind, runs):
    return [
        p
        for p in programs.PEERS
        if p in runs and not (p == "pthread" and kind in ORDERED_KINDS)
    ]


def best_peer(kind, runs):
    """The fastest peer by the odd repetitions. The ratio is then taken on the
    even ones, so that picking the luckiest of four does not flatter it."""
    peers = peers_of(kind, runs)
    if not peers:
        return None
    return min(
        peers,
        key=lambda p: median_figure(map(programs.per_round, runs[p][0::2])).value,
    )


def ratio(runs, over, under, pick=slice(None)):
    """Median of the pairs' time ratios, or None if there is no such pair."""
    if not runs.get(over, [])[pick] or not runs.get(under, [])[pick]:
        return None
    return median_figure(pair_ratios(runs[over][pick], runs[under][pick], programs.per_round))


def judge(kind, times, runs):
    """Returns the cell's ratios and its verdict. times: threads a CPU."""
    peer = best_peer(kind, runs)
    found = {
        "speedup": ratio(runs, "original", "rewritten"),
        "peer": peer,
        "over_peer": ratio(runs, "rewritten", peer, slice(1, None, 2)) if peer else None,
        "no_notify": ratio(runs, "no-notify", "original"),
    }
    short = []
    bounded = programs.is_bounded(kind)

    def demand(what, figure, met, form):
        if figure is None or met(figure) is None:
            short.append(f"unknown: {what}")
        elif not met(figure):
            short.append(f"short: {what} {figure.text(form)}")

    if programs.is_giveup(kind):
        took = ratio(runs, "rewritten", "original")
        found["give_up"] = took
        if times <= 1:
            demand("gives up early", took, lambda f: f.at_least(GIVE_UP[0]), "{:.2f}")
            demand("gives up late", took, lambda f: f.at_most(GIVE_UP[1]), "{:.2f}")
        return found, "; ".join(short) or ("ok" if times <= 1 else "-")
    if times <= 1:
        demand("speed", found["speedup"], lambda f: f.at_least(OWN_CPU), "{:.2f}")
        if len(runs.get("rewritten", [])) < OWN_CPU_PAIRS:
            short.append(f"unknown: fewer than {OWN_CPU_PAIRS} pairs")
    else:
        if times >= CROWDED and kind in SPEEDUP_KINDS:
            demand("speedup", found["speedup"], lambda f: f.at_least(SPEEDUP), "{:.1f}")
        if times >= CROWDED or not bounded:
            most = BOUNDED_OVER_PEER if bounded else OVER_PEER
            demand("over peer", found["over_peer"], lambda f: f.at_most(most), "{:.2f}")
    demand("no-notify", found["no_notify"], lambda f: f.at_most(NO_NOTIFY), "{:.2f}")
    return found, "; ".join(short) or "ok"
