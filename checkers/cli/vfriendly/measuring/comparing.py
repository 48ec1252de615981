# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares profiles: ratios with intervals, and the overhead of a virtual machine over a native run.

Definitions are those of Schildermans et al. (2021, sections 3.1, 3.2 and 5.2), of a virtual run v and
a native one p: C is CPU cycles, t wall time, and g the CPUs that the workload may ideally use; the
overhead of resources, dr, is (C_v - C_p) / C_p, that of time, dt, is (t_v g_v - t_p g_p) / (t_p g_p),
and the impact factor is (1 + dt) / (1 + dr). CPU time stands for cycles. C_v includes the cycles of
the host, which only the host knows: vmm.py.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from vfriendly import intervals
from vfriendly.errors import Refused
from vfriendly.measuring import vmm
from vfriendly.measuring.profile import CAUSES, Profile, read
from vfriendly.measuring.table import columns, place_name

SCENARIOS = ("UC", "OC", "OC2")
_PLACES = 10
_LEAST_S = 0.001  # a sample's time

_Figure = Callable[[Profile], float]
_Row = tuple[str, _Figure, str]


def load(names: str) -> list[Profile]:
    """Reads profiles whose names have commas between."""
    return [read(name) for name in names.split(",")]


def _cpu(p: Profile) -> float:
    return p.user_s + p.system_s


def _of_cause(cause: str) -> _Figure:
    return lambda p: p.seconds_of(cause)["cpu"]


def _counted(kind: str) -> _Figure:
    return lambda p: sum(r["count"] for name, r in p.totals.items() if name == kind or name.startswith(kind + " "))


def _figures() -> list[_Row]:
    rows: list[_Row] = [("wall", lambda p: p.wall_s, "s"), ("CPU time", _cpu, "s"),
                        ("waiting for a CPU", lambda p: p.run_delay_s or 0.0, "s")]
    rows += [(f"CPU time of {cause}", _of_cause(cause), "s") for cause in CAUSES[:-1]]
    rows += [(words, _counted(kind), "") for kind, words in (
        ("block", "blocks"), ("wake", "wake-ups"), ("idle wake", "wake-ups of idle CPUs"),
        ("shootdown", "TLB shootdowns"), ("fault", "page faults"))]
    return rows


def _show(value: float, unit: str) -> str:
    return f"{value:.3f} s" if unit else f"{value:,.0f}"


def lines(base: Sequence[Profile], new: Sequence[Profile]) -> Iterator[str]:
    """Yields a table of means and of ratios new / base. Recordings are paired in the given order."""
    count = min(len(base), len(new))
    rows = [["", "base", "new", "new / base"]]
    for name, figure, unit in _figures():
        before, after = ([figure(p) for p in profiles[:count]] for profiles in (base, new))
        if not any(before) and not any(after):
            continue
        ratio = intervals.of_ratios(after, before)
        rows.append([name, _show(sum(before) / count, unit), _show(sum(after) / count, unit),
                     ratio.text() if any(before) and any(after) else "-"])
    yield from columns(rows, frozenset({0}))
    if count < intervals.LEAST_PAIRS:
        yield f"{count} of each has no interval: give {intervals.LEAST_PAIRS} or more, with commas between"
    yield ""
    yield from columns([["cost in base", "in new", "cause", "place"], *_places(base[:count], new[:count])],
                       frozenset({2, 3}))
    tiers = {p.tier for p in (*base, *new)}
    if len(tiers) > 1:
        yield f"they were measured in different ways, so counts are not comparable: {', '.join(sorted(tiers))}"


def _places(base: Sequence[Profile], new: Sequence[Profile]) -> list[list[str]]:
    # By function, as lines move when a program is changed.
    costs: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0])
    names: dict[tuple[str, str], str] = {}
    for side, profiles in enumerate((base, new)):
        for place in (place for p in profiles for place in p.places()):
            key = (place.frame.function or place_name(place), place.cause)
            costs[key][side] += place.cost / len(profiles)
            names.setdefault(key, place_name(place))
    notable = [(key, cost) for key, cost in costs.items() if max(cost) >= _LEAST_S]
    ranked = sorted(notable, key=lambda item: -abs(item[1][0] - item[1][1]))[:_PLACES]
    return [[_show(before, "s"), _show(after, "s"), key[1], names[key]] for key, (before, after) in ranked]


def _shares(hosts: Sequence[vmm.Time]) -> Iterator[list[str]]:
    """Yields rows of the host's part of the CPU time, in means of the runs of which it is known."""
    for name, values in (("of it in the host", [h.host_s for h in hosts]),
                         ("in exits, without halts", [h.exits_s for h in hosts])):
        known = [value for value in values if value is not None]
        if known:
            yield [name, f"{sum(known) / len(known):.3f} s", ""]


def overhead(native: Sequence[Profile], virtual: Sequence[Profile], scenario: str,
             hosts: Sequence[vmm.Time] = ()) -> Iterator[str]:
    """Yields the overheads of virtual runs.

    UC: as many physical CPUs as the machine has vCPUs. OC: two equal virtual machines on the CPUs of
    one, so that each may use half of them. OC2: the same, compared with two native copies. A profile
    of all processes has the work of both copies. hosts: what the host says of each virtual run.
    """
    if scenario not in SCENARIOS:
        raise Refused(f"--overhead {scenario}: there are {', '.join(SCENARIOS)}")
    if hosts and len(hosts) != len(virtual):
        raise Refused(f"--host has {len(hosts)} files for {len(virtual)} virtual runs: give one for each")
    halves = {"UC": (1.0, 1.0), "OC": (1.0, 0.5), "OC2": (0.5, 0.5)}[scenario]
    whole = [host.whole_s for host in hosts]
    seen = bool(hosts) and None not in whole
    resources, times = [], []
    for number, (p, v) in enumerate(zip(native, virtual, strict=False)):
        both = [_cpu(one) * (half if one.command == ["all processes"] else 1)
                for one, half in zip((p, v), halves, strict=True)]
        gamma = [p.cpus * halves[0], p.cpus * halves[1]]
        if not both[0] or not p.wall_s:
            raise Refused("a native profile without CPU time has no overhead to compare with")
        resources.append(((whole[number] or 0.0) if seen else both[1]) / both[0])
        times.append(v.wall_s * gamma[1] / (p.wall_s * gamma[0]))
    ones = [1.0] * len(resources)
    r, t = intervals.of_ratios(resources, ones), intervals.of_ratios(times, ones)
    rows = [["", scenario, "interval"]]
    whose = "guest and host" if seen else "as the guest sees it"
    for name, one in ((f"overhead of resources, {whose} (δη_r)", r), ("overhead of time (δη_t)", t)):
        span = f"[{one.low - 1:.1%}, {one.high - 1:.1%}]" if one.low > 0 else "[?]"
        rows.append([name, f"{one.estimate - 1:.1%}", span])
    rows += _shares(hosts)
    omega = intervals.of_ratios(times, resources)
    rows.append(["impact factor (ω)", f"{omega.estimate:.2f}",
                 f"[{omega.low:.2f}, {omega.high:.2f}]" if omega.low > 0 else "[?]"])
    yield from columns(rows, frozenset({0}))
    if not seen:
        yield ("not in δη_r: time of the host while a vCPU is halted, such as polling and scheduling; --host FILE takes"
               " it from what the host has recorded")
