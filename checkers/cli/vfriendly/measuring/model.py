# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of what a measured program would pay on other numbers of vCPUs and nodes.

The formulas are those of Schildermans' dissertation (2022): shootdowns of section 7.4, ticks of
sections 6.2.1 and 6.2.2. The counts are those of the profile, and so stay the same on any number of
vCPUs; the cost of one event is measured here. Spinning is no part of it: how long a thread spins
depends on when the others run.
"""

import math
from collections.abc import Iterator, Sequence

from vfriendly.errors import Refused
from vfriendly.measuring.calibrating import Costs
from vfriendly.measuring.profile import Place, Profile
from vfriendly.measuring.table import columns, place_name

# Of a shootdown on another node by one on the same node: section 7.2 of the dissertation.
REMOTE = 3.0
# Debian's kernels, and the dissertation's.
TICK_HZ = 250


def shootdown(costs: Costs, vcpus: int, nodes: int) -> float:
    """Returns the seconds of one shootdown in a virtual machine, if its program runs on all vCPUs.

    (n_L - 1) C_L + (n - n_L) C_R + C_exit (n - 1), with n_L of n vCPUs on the caller's node.
    """
    local, remote, exit_s = terms(costs)
    here = math.ceil(vcpus / nodes)
    return (here - 1) * local + (vcpus - here) * remote + exit_s * (vcpus - 1)


def terms(costs: Costs) -> tuple[float, float, float]:
    """Returns the seconds to interrupt a CPU of the same node, one of another node, and of an exit."""
    exit_s = costs.exit or 0.0
    local = max(costs.shootdown - (exit_s if costs.virtual else 0.0), 0.0)
    return local, REMOTE * local, exit_s


def setting(costs: Costs) -> str:
    """Returns the variable that tells libvfmalloc.so these costs."""
    # The library takes 1 ms at most; a native machine has no exit.
    most = 1_000_000
    parts = [min(round(seconds * 1e9), most) for seconds in terms(costs)]
    if not costs.virtual:
        parts[2] = 0
    return "VF_MALLOC_SHOOTDOWN=" + ",".join(map(str, parts))


def wake(costs: Costs, idle_share: float) -> float:
    """Returns the seconds between a wake-up and the run, if that share of the wake-ups is of halted vCPUs."""
    return idle_share * costs.wake_idle + (1 - idle_share) * costs.wake_busy


def periodic_exits(seconds: float, vcpus: int, hz: float = TICK_HZ, exits: int = 2) -> float:
    """Returns 2 t n f: each tick exits once as it comes and once as the next one is set.

    Table 6.1 of the dissertation has one exit a tick; its formula has two.
    """
    return exits * seconds * vcpus * hz


def tickless_exits(seconds: float, vcpus: int, load: float, idle_s: float, hz: float = TICK_HZ) -> float:
    """Returns 2 t (L n f + (1 - L) n / T_idle), with T_idle the mean length of an idle period."""
    return 2 * seconds * (load * vcpus * hz + ((1 - load) * vcpus / idle_s if idle_s else 0.0))


def _total(profile: Profile, kind: str) -> float:
    return sum(row["count"] for name, row in profile.totals.items() if name == kind or name.startswith(kind + " "))


def _micro(seconds: float | None) -> str:
    return "not visible here" if seconds is None else f"{seconds * 1e6:.1f} µs"


def lines(profile: Profile, costs: Costs, vcpus: Sequence[int], nodes: int, most: int) -> Iterator[str]:
    """Yields the model's costs of the places, for each number of vCPUs, and its exits for ticks."""
    if any(n < nodes for n in vcpus):
        raise Refused(f"--vcpus {min(vcpus)}: {nodes} nodes have at least {nodes} vCPUs")
    wakes, idle = _total(profile, "wake"), _total(profile, "idle wake")
    one_wake = wake(costs, min(idle / wakes, 1.0) if wakes else 0.0)

    def cost(place: Place, count: int) -> float:
        shootdowns = place.counts.get("shootdown", 0)
        return place.counts.get("wake", 0) * one_wake + shootdowns * shootdown(costs, count, nodes)

    yield (f"a model, not a measurement: the events of {profile.wall_s:.1f} s, in a virtual machine with "
           f"{nodes} {'node' if nodes == 1 else 'nodes'}, all of whose vCPUs the program uses")
    yield (f"measured on this machine: wake-up of a halted CPU {_micro(costs.wake_idle)}, of one that is awake "
           f"{_micro(costs.wake_busy)}, shootdown of one CPU {_micro(costs.shootdown)}, exit {_micro(costs.exit)}; "
           f"taken from the dissertation: a shootdown on another node costs {REMOTE:.0f} times as much")
    yield f"for libvfmalloc.so on this machine: {setting(costs)}"
    if not costs.quiet:
        yield "these costs were measured beside other load, so they may be too high; they will be measured again"
    yield ""
    ranked = sorted((p for p in profile.places() if cost(p, max(vcpus)) > 0), key=lambda p: -cost(p, max(vcpus)))
    rows = [[*(f"{n} vCPUs" for n in vcpus), "wake-ups", "shootdowns", "place"]]
    rows += [[*(f"{cost(p, n):.3f} s" for n in vcpus), f"{p.counts.get('wake', 0):,.0f}",
              f"{p.counts.get('shootdown', 0):,.0f}", place_name(p)] for p in ranked[:most]]
    if ranked:
        yield from columns(rows, frozenset({len(vcpus) + 2}))
    else:
        yield "no place has wake-ups or shootdowns"
    yield ""
    whole = profile.wall_s * profile.cpus
    load = min((profile.user_s + profile.system_s) / whole, 1.0) if whole else 0.0
    idle_s = (1 - load) * whole / idle if idle else 0.0
    rows = [[f"exits for ticks, {TICK_HZ} Hz", *(f"{n} vCPUs" for n in vcpus)],
            ["periodic", *(f"{periodic_exits(profile.wall_s, n):,.0f}" for n in vcpus)],
            [f"tickless, {load:.0%} load", *(f"{tickless_exits(profile.wall_s, n, load, idle_s):,.0f}" for n in vcpus)]]
    yield from columns(rows, frozenset({0}))
    for what, counted in (("wake-ups", wakes), ("shootdowns", _total(profile, "shootdown"))):
        if not counted and profile.tier != "BPF":
            yield f"not in it: {what}, which {profile.tier} did not count"
    if costs.exit is None:
        yield ("not in it: the exit of each interrupt that is sent, whose cost is visible only in a virtual machine "
               "on x86-64")
