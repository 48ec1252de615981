# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A profile for people: what pays, in one or two lines, the causes, then the places."""

import os
import re
from collections.abc import Iterator, Sequence

from vfriendly import cpu_limit, intervals, pools
from vfriendly.measuring import blocks
from vfriendly.measuring.profile import CAUSES, ON_CPU, TITLES, Place, Profile
from vfriendly.measuring.symbols import Frame

# Shares of the CPU time below which a cause is not worth a change: the runs of a program differ by as much.
NOTABLE = 0.05
# Samples on CPUs below which no cause is named: of 30, a share of 20 % may be 10 or 37 %.
LEAST_SAMPLES = 30
# Share of the events of their kind below which events without a cost are not listed.
LEAST_SHARE = 0.01
# Names of threads in a line.
MOST_NAMES = 4
_PLURAL = re.compile(r"s\b")
# Time in calls that return memory, by time in page faults, below which the faults are of something else: to unmap pages
# and to use them again cost about the same; PostgreSQL had 0.5 % for its shared buffers.
LEAST_RETURNED = 0.05
# Share of the pages that lie on another node from which placement is a remedy: an access to them takes 1.5 to 2 times
# as long, so all of a program that waits for memory half of its time would gain 5 %.
NOTABLE_REMOTE = 0.2
REMOTE = "fill memory in parallel, or vfriendly try --remedies numa"
# No call was seen by which memory goes back.
FIRST_USE = "memory is used for the first time, as far as seen: larger pages, or less memory"
REMEDIES = {
    "spinning": "compile with the pass, or without rebuilding: vfriendly try --remedies {preload}",
    "blocking": "locks that spin briefly first, fewer hand-overs: vfriendly try --remedies pthread",
    "data sharing": "an allocator that keeps memory: vfriendly try --remedies malloc",
    "page faults": "an allocator that keeps memory: vfriendly try --remedies malloc",
    "allocation": "reuse the memory of what this allocates again and again; "
                  "vfriendly scan --profile FILE lists such loops first",
}


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 0.995 else f"{value * 1000:.1f} ms" if value >= 1e-4 else "0"


def percent(value: float, whole: float) -> str:
    return f"{100 * value / whole:.1f} %" if whole > 0 else "-"


def columns(rows: Sequence[Sequence[str]], left: frozenset[int] = frozenset()) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        yield "  ".join(cells).rstrip()


def place_name(place: Place) -> str:
    return frame_name(place.frame)


def frame_name(f: Frame) -> str:
    where = os.path.basename(f.file) + (f":{f.line}" if f.line else "") if f.file else \
        f"{os.path.basename(f.module) or '?'}+{f.offset:#x}"
    return f"{f.function or '?'} ({where})"


def verdict(profile: Profile) -> list[str]:
    """Returns lines that say what pays: a setting, if threads share CPUs, then the cause with the largest share."""
    crowd = _crowd(profile)
    # Beside too many threads, the cause's own remedy is the second thing to try.
    return [crowd, _cause(profile, remedy=False)] if crowd else [_cause(profile)]


def _crowd(profile: Profile) -> str:
    """Returns what sets the number of threads, or "" unless more threads could run than there are CPUs."""
    crowd = profile.crowd
    if not crowd or not crowd.is_crowded:
        return ""
    n = cpu_limit.threads_for(crowd.cpus)
    known = pools.named(crowd.pools)
    spins = profile.interval_of("spinning")[0] >= NOTABLE and profile.samples_on_cpu >= LEAST_SAMPLES
    if not known and not spins:
        return ""
    share = f"{crowd.active:.0f} threads share {_cpus(crowd.cpus)}"
    if known:
        return f"{share}: set {', '.join(p.text(n) for p in known)}: vfriendly try --remedies threads"
    return (f"{share} and spin: start as many as there are CPUs; "
            "vfriendly try --remedies cpus does if they ask for the number of CPUs")


def _cpus(cpus: float) -> str:
    return "one CPU" if cpus == 1 else f"{cpus:g} CPUs" if cpus > 1 else f"{cpus:g} of a CPU"


def _cause(profile: Profile, remedy: bool = True) -> str:
    cpu = profile.user_s + profile.system_s
    shares = {cause: profile.seconds_of(cause)["cpu"] for cause in CAUSES[:-1]}
    worst = max(shares, key=lambda c: shares[c])
    places = [p for p in profile.places() if p.cause == worst]
    seen, samples = sum(s.seconds for s in profile.stacks if s.what in ON_CPU), profile.samples_on_cpu
    # What is too short for that many samples needs no other reason.
    if samples < LEAST_SAMPLES and cpu < LEAST_SAMPLES * profile.period_s and "cpu" not in profile.unknown:
        return _too_little(cpu, samples)
    if seen < cpu / 2:
        return (f"only {seconds(seen)} of {seconds(cpu)} of CPU time were seen, too little to name a cause; "
                "the last lines say what is missing")
    if samples < LEAST_SAMPLES:
        return _too_little(cpu, samples)
    proved = _proved(profile, worst)
    if proved:
        return proved
    if cpu > 0 and profile.interval_of(worst)[0] >= NOTABLE and places:
        return (f"{percent(shares[worst], cpu)} of the CPU time goes to {worst}, most of it in "
                f"{place_name(places[0])}" + (f": {_remedy(profile, worst)}" if remedy else ""))
    unknown = [cause for cause in CAUSES[:-1] if not profile.is_known(cause, "cpu")]
    none = f"no cause {'that can be seen ' if unknown else ''}takes {100 * NOTABLE:.0f} % of the CPU time"
    delay = profile.run_delay_s or 0
    if delay > NOTABLE * cpu > 0:
        none += f", but threads waited {seconds(delay)} for a CPU"
    return none + (f"; unknown: {', '.join(unknown)}; the last lines say why" if unknown else "")


def _too_little(cpu: float, samples: float) -> str:
    return (f"{seconds(cpu)} of CPU time and {samples:.0f} samples of it are too little to name a cause: "
            "measure for longer, or under more load")


def _remedy(profile: Profile, cause: str) -> str:
    # An allocator changes only faults of memory that goes back to the kernel.
    returned, faulted = (profile.seconds_of(c)["cpu"] for c in ("data sharing", "page faults"))
    returns = returned > LEAST_RETURNED * faulted or bool(_sum(profile, "shootdown"))
    if cause == "page faults" and not returns:
        return FIRST_USE
    return REMEDIES[cause].format(preload=profile.proved.remedy if profile.proved else "spin")


def _proved(profile: Profile, worst: str) -> str:
    """Returns that threads spin, where that was proved and the samples' places do not show it, or "".

    Time in loops that yield is in the kernel, and looks like blocking.
    """
    proved = profile.proved
    if not proved or proved.samples < LEAST_SAMPLES or profile.interval_of("spinning")[0] >= NOTABLE:
        return ""
    low = intervals.of_share(proved.waits, proved.samples)[0]
    by_yields = 2 * proved.yields > proved.waits
    if low < NOTABLE or (profile.interval_of(worst)[0] >= NOTABLE and not (worst == "blocking" and by_yields)):
        return ""
    how = "that yield to each other" if by_yields else "that only other threads can end"
    return (f"{percent(proved.waits, proved.samples)} of the time in user mode is in loops {how}: "
            f"vfriendly try --remedies {proved.remedy}")


def lines(profile: Profile, most: int) -> Iterator[str]:
    yield from verdict(profile)
    yield ""
    yield times(profile)
    yield from _nodes(profile)
    yield from _waited_for(profile)
    rows = [["cause", "CPU time", "share", "blocked", "delay after wake-up", "counted"]]
    for cause in CAUSES:
        rows.append([cause, *cells(profile, cause), _counts(profile, cause)])
    yield from columns(rows, frozenset({0, 5}))
    yield ""
    yield from _by_cpu(profile, most)
    ranked = notable_places(profile)
    waits = any(place.waited_s for place in ranked)
    rows = [["cost", "blocked", *(["waited"] if waits else []), "events", "cause", "place", "through"]]
    for place in ranked[:most]:
        waited = [seconds(place.waited_s)] if waits else []
        rows.append([seconds(place.cost), seconds(place.blocked_s), *waited, events(place), place.cause,
                     place_name(place), place.mostly_through])
    if len(rows) > 1:
        yield from columns(rows, frozenset(range(len(rows[0]) - 4, len(rows[0]))))
        if len(ranked) > most:
            yield f"and {len(ranked) - most} more places"
    yield from _memory(profile, most)
    yield ""
    yield overhead(profile)
    for line in profile.missing:
        yield f"not seen: {line}"


def _memory(profile: Profile, most: int) -> Iterator[str]:
    """Yields the places that allocate the most blocks of memory, if they were sampled."""
    found = blocks.places(profile)
    if not found:
        return
    yield ""
    rows = [["blocks", "bytes", "temporary", "freed by another thread", "place"]]
    rows += [[f"{p.blocks:,.0f}", f"{p.bytes:,.0f}", percent(p.temporary, p.blocks), percent(p.passed, p.blocks),
              frame_name(p.frame)] for p in found[:most]]
    yield from columns(rows, frozenset({4}))
    if len(found) > most:
        yield f"and {len(found) - most} more places that allocate"


def _by_cpu(profile: Profile, most: int) -> Iterator[str]:
    rows = rows_by_cpu(profile)
    if len(rows) > 1:
        yield from columns(rows[:most + 1])
        if len(rows) > most + 1:
            yield f"and {len(rows) - 1 - most} more CPUs"
        yield ""


def rows_by_cpu(profile: Profile) -> list[list[str]]:
    """Returns a heading, and the CPUs on which the program ran, the busiest first."""
    found = sorted(profile.by_cpu.items(), key=lambda item: -(item[1]["run_s"] or 0))
    return [["CPU", "running", "of the time", "spinning", "threads waited for it", "steal"]] + [
        [cpu, known(row["run_s"]), percent(row["run_s"] or 0, profile.wall_s), known(row["spin_s"]),
         known(row["delay_s"]), known(row["steal_s"])] for cpu, row in found]


def known(value: float | None) -> str:
    return "unknown" if value is None else seconds(value)


def times(profile: Profile) -> str:
    crowd = profile.crowd
    threads = f", {crowd.runnable:.1f} threads that could run, for {_cpus(crowd.cpus)}" if crowd else ""
    return (f"wall {seconds(profile.wall_s)}, user {seconds(profile.user_s)}, system {seconds(profile.system_s)}, "
            f"waiting for a CPU {known(profile.run_delay_s)}, steal {known(profile.steal_s)}, "
            f"throttled {known(profile.throttled_s)}; {profile.cpus} CPUs{threads}")


def cells(profile: Profile, cause: str) -> list[str]:
    """Returns CPU time, its share with the interval, blocked time and delay of a cause."""
    s, cpu = profile.seconds_of(cause), profile.user_s + profile.system_s
    found = {column: seconds(s[column]) if profile.is_known(cause, column) else "unknown" for column in s}
    if not profile.samples_on_cpu:
        found["cpu"] = "unknown"
    share = percent(s["cpu"], cpu)
    if found["cpu"] == "unknown":
        share = ""
    elif s["cpu"] > 0:
        low, high = profile.interval_of(cause)
        share += f" [{100 * low:.1f}, {100 * high:.1f}]"
    return [found["cpu"], share, found["blocked"], found["delay"]]


def _nodes(profile: Profile) -> Iterator[str]:
    """Yields where pages lie and where the program computes, if the machine has several nodes."""
    nodes = {name: row for name, row in profile.totals.items() if name.startswith("pages of node ")}
    pages, cpu = (sum(row[key] for row in nodes.values()) for key in ("count", "seconds"))
    if not pages or not cpu:
        return
    parts = [f"node {name.rpartition(' ')[2]}: {percent(row['count'], pages)} of the pages, "
             f"{percent(row['seconds'], cpu)} of the CPU time" for name, row in nodes.items()]
    remote = profile.totals["remote pages"]["count"]
    line = f"{'; '.join(parts)}: {percent(remote, pages)} of the pages are remote at least"
    hints, local = (profile.totals.get(f"numa hint faults{of}", {"count": 0.0})["count"] for of in ("", " local"))
    if hints:
        line += (f"; of {hints:,.0f} samples of the kernel's balancing {percent(hints - local, hints)} "
                 "(the whole machine)")
    yield line + (f": {REMOTE}" if remote >= NOTABLE_REMOTE * pages else "")


def _waited_for(profile: Profile) -> Iterator[str]:
    """Yields which threads the others waited for: those whose wake-ups have ended most of the time in blocks."""
    names = profile.crowd.names if profile.crowd else {}
    rows = sorted(((row["ended_s"], row["ended"], name or "?") for name, row in names.items() if row.get("ended_s")),
                  reverse=True)
    whole = sum(ended_s for ended_s, _, _ in rows)
    if whole < NOTABLE * profile.wall_s:
        return
    parts = [f"{name} {seconds(ended_s)} in {ended:,.0f}" for ended_s, ended, name in rows[:MOST_NAMES]]
    yield f"threads waited for others, until woken by: {', '.join(parts)}" + (" ..." if len(rows) > MOST_NAMES else "")


def overhead(profile: Profile) -> str:
    used, cpu = profile.overhead, profile.user_s + profile.system_s
    inside = f"{percent(used['in_program_s'], cpu)} of the program's CPU time and " if "in_program_s" in used else ""
    return (f"overhead, measured: {inside}{percent(used['beside_s'], profile.wall_s * profile.cpus)} of the machine's; "
            f"{used['samples']:,.0f} samples, by {profile.tier}")


def events(place: Place) -> str:
    """Returns the counts of a place, the highest first."""
    rows = [(n, TITLES[w] if w != "wake" else "wake-ups") for w, n in place.counts.items() if round(n)]
    return ", ".join(_number(n, words) for n, words in sorted(rows, reverse=True))


def notable_places(profile: Profile) -> list[Place]:
    """Returns the places that are worth a line, the most costly first."""
    return [p for p in profile.places() if _is_notable(p, profile)]


def _is_notable(place: Place, profile: Profile) -> bool:
    """Returns False for what every program's start does: a few events that cost nothing."""
    if place.cost > 0 or place.blocked_s > 0 or place.waited_s > 0:
        return True
    return any(n >= LEAST_SHARE * (_sum(profile, what) or 0) for what, n in place.counts.items())


def _counts(profile: Profile, cause: str) -> str:
    """Returns what was counted exactly; what this tier does not count is left out."""
    kinds = {
        "blocking": (("block futex", "waits by futex"), ("wake futex", "wake-ups by futex"),
                     ("idle wake", "wake-ups of idle CPUs")),
        "data sharing": (("shootdown", "TLB shootdowns"),),
        "page faults": (("fault", "page faults"),),
        "other": (("preempted", "preemptions"), ("block", "blocks in all")),
    }
    return ", ".join(_number(sums, words) for name, words in kinds.get(cause, ())
                     if (sums := _sum(profile, name)) is not None)


def _number(count: float, words: str) -> str:
    return f"{count:,.0f} {_PLURAL.sub('', words, count=1) if round(count) == 1 else words}"


def _sum(profile: Profile, name: str) -> float | None:
    """Returns the count of a kind, of all system calls unless the name has one; None if it is not counted."""
    rows = [row["count"] for key, row in profile.totals.items() if key == name or key.startswith(name + " ")]
    return sum(rows) if rows or profile.tier == "BPF" else None
