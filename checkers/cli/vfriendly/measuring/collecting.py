# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command, or watches processes, and collects what the kernel lets this user see."""

import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import psutil

from vfriendly import pools
from vfriendly.errors import Refused
from vfriendly.measuring import bpf, hints, preloading, samples, vcpus
from vfriendly.measuring.blocks import Blocks
from vfriendly.measuring.bpf import Bpf, Unavailable
from vfriendly.measuring.child import Child
from vfriendly.measuring.events import CLOCK_HZ, Blocked, PerfEvents
from vfriendly.measuring.machine import Machine
from vfriendly.measuring.nodes import Nodes
from vfriendly.measuring.processes import Processes, Watch
from vfriendly.measuring.profile import LOST, ON_CPU, Profile, Stack, joined, timeline
from vfriendly.measuring.proving import Prover
from vfriendly.measuring.resolving import Resolver, call_name
from vfriendly.measuring.sites import Sites
from vfriendly.measuring.threads import Crowd, Threads

# Seconds between two looks at the samples; BPF's ring holds some 3900 of them, those of perf events 60 a CPU.
POLL_S = 0.05


@dataclass
class Target:
    """What is measured: a command that is started, processes, or all."""

    command: Sequence[str] = ()
    process: int = 0
    system: bool = False
    seconds: float = 0  # 0: until it ends
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    sites: Sites | None = None  # what the runtime counts is taken from here
    blocks: bool = False  # also sample the blocks of memory that a command allocates


def _family(process: int) -> list[int]:
    try:
        root = psutil.Process(process)
        return [process, *(p.pid for p in root.children(recursive=True))]
    except psutil.NoSuchProcess:
        raise Refused(f"process {process} does not exist") from None


def _cpu_of(processes: Sequence[int]) -> tuple[float, float]:
    """Returns user and system time, also of children that have ended: their parents have it."""
    user = system = 0.0
    for process in processes:
        try:
            times = psutil.Process(process).cpu_times()
        except psutil.Error:
            continue
        user, system = user + times.user + times.children_user, system + times.system + times.children_system
    return user, system


@dataclass
class Collected:
    """The result. The program's exit status is None if it goes on running."""

    profile: Profile
    status: int | None
    interrupted: bool


class _Tier:
    """A way to see events: its name, what it cannot see, and what it counts."""

    name = ""
    period_s = 0.0
    calls_known = False  # a sample in the kernel tells in which system call

    def __init__(self) -> None:
        self.missing: list[str] = []
        # Of the table's cells, as in Profile.unknown.
        self.unknown: list[str] = []

    def environment(self, given: Mapping[str, str]) -> Mapping[str, str] | None:
        """Returns the environment of the command, or None if it is the one given."""
        return None

    def poll(self, family: Sequence[int], seconds: float) -> None: ...

    def exact(self, _usage: Mapping[str, int]) -> dict[str, dict[str, float]]:
        """Returns the counts and seconds of each kind and system call; `usage` is of Child.counts()."""
        return {}

    def ended(self) -> dict[int, tuple[float, float]]:
        """Returns how many blocks of others each thread has ended, and their seconds, where that is seen."""
        return {}

    def sampled_s(self, user_s: float, system_s: float) -> float:
        """Returns of how much of the CPU time there should be samples."""
        return user_s + system_s

    def delays(self) -> dict[int, float]:
        """Returns the seconds in which threads waited for each CPU, where that is counted. Comes after exact()."""
        return {}

    def lost(self) -> int:
        return 0

    def unseen(self) -> list[str]:
        """Returns what turned out not to be seen, or was not looked at, to keep the overhead low."""
        return []

    def _unseen_blocks(self, blocked: Blocked) -> list[str]:
        if not blocked.missing:
            return []
        self.unknown.append("blocked")
        return [blocked.missing]

    def cost(self) -> dict[str, float]:
        """Returns what this took in the program, or {} if that is not known."""
        return {}


class _ByBpf(_Tier):
    name, period_s, calls_known = "BPF", 1 / bpf.CLOCK_HZ, True

    def __init__(self, spool: samples.Spool, processes: Processes, target: Target, family: Sequence[int]) -> None:
        super().__init__()
        self._bpf = Bpf(spool)
        # Those of all processes may be more than their ring holds, where many programs start and this has seldom a CPU.
        self._watch = Watch(processes, family[0] if target.command else -1)
        self._delays: dict[int, float] = {}
        if target.system:
            self._bpf.follow_all()
        for process in family:
            self._bpf.follow(process, from_exec=bool(target.command))

    def poll(self, family: Sequence[int], seconds: float) -> None:
        self._bpf.poll(seconds)
        self._watch.read()

    def exact(self, usage: Mapping[str, int]) -> dict[str, dict[str, float]]:
        totals = self._bpf.totals()
        self._delays = {cpu: ns / 1e9 for cpu, ns in totals.delay_ns.items()}
        found: dict[str, dict[str, float]] = {}
        for (_, kind, number), count in totals.count.items():
            row = found.setdefault(f"{samples.NAMES[kind]} {call_name(number)}".strip(), {"count": 0, "seconds": 0})
            row["count"] += count
            row["seconds"] += totals.ns[_, kind, number] / 1e9
        if not self._bpf.slices.whole:
            _complete(found, usage.get("block", 0), self._bpf.missing())
        return found

    def ended(self) -> dict[int, tuple[float, float]]:
        return self._bpf.ended()

    def delays(self) -> dict[int, float]:
        return self._delays

    def lost(self) -> int:
        return self._bpf.lost

    def unseen(self) -> list[str]:
        lines = []
        if self._watch.lost:
            lines.append(f"{self._watch.lost} records of what processes have mapped: places may be wrong")
        if not self._bpf.slices.whole:
            lines.append(f"blocks and wake-ups but in {self._bpf.slices.seen_s:.2f} s, as there are so many: their "
                         "counts are estimates, and long blocks are missing")
        return lines

    def cost(self) -> dict[str, float]:
        return {"in_program_s": self._bpf.seconds(), "looked_at": self._bpf.looked_at()}


class _ByEvents(_Tier):
    name, period_s = "perf events and /proc", 1 / CLOCK_HZ

    def __init__(self, spool: samples.Spool, processes: Processes, target: Target, family: Sequence[int]) -> None:
        """Raises OSError if this user can have no event at all."""
        super().__init__()
        threads = [t for process in family for t in _threads(process)]
        self._events = PerfEvents(spool, processes, threads, from_exec=bool(target.command))
        self.missing += self._events.missing
        # Lengths of blocks are those of looks at /proc, or of nothing.
        self.unknown = ["delay"]
        if self._events.user_only:
            self.unknown += [f"{cause} cpu" for cause in ("blocking", "data sharing", "page faults")]
        else:
            self.unknown.append("blocked")

    def poll(self, family: Sequence[int], seconds: float) -> None:
        time.sleep(seconds)
        self._events.poll(family)

    def sampled_s(self, user_s: float, system_s: float) -> float:
        return user_s if self._events.user_only else user_s + system_s

    def exact(self, _usage: Mapping[str, int]) -> dict[str, dict[str, float]]:
        return {name: {"count": count, "seconds": 0} for name, count in self._events.counts().items()}

    def lost(self) -> int:
        return self._events.lost

    def unseen(self) -> list[str]:
        return self._unseen_blocks(self._events.blocked)


class _ByProc(_Tier):
    """What every user may see of own processes: /proc, and a library in a command that is started."""

    name, period_s = "/proc", preloading.PERIOD_S

    def __init__(self, spool: samples.Spool, processes: Processes, target: Target) -> None:
        super().__init__()
        self._blocked, self._preloaded = Blocked(spool), None
        self._processes, self._last_ns = processes, 0
        self.unknown = ["delay", "cpu"]
        if not target.command:
            self.missing.append("where CPU time goes: without perf events, only a command after -- can be sampled")
            return
        try:
            self._preloaded = preloading.Preloaded(spool, processes, target.command)
            self.name = "a preloaded library and /proc"
            # What a thread did in a system call shows when it ends; of faults, nothing does.
            self.unknown = ["delay", "page faults cpu"]
            self.missing.append("which of the CPU time is in the kernel, but at the end of system calls")
        except preloading.Unavailable as error:
            self.missing.append(f"where CPU time goes: the preloaded library cannot be used: {error}")

    def environment(self, given: Mapping[str, str]) -> Mapping[str, str] | None:
        return self._preloaded.environment(given) if self._preloaded else None

    def poll(self, family: Sequence[int], seconds: float) -> None:
        time.sleep(seconds)
        self._blocked.look(family)
        if self._preloaded:
            self._preloaded.read(family)
            return
        for process in family:
            self._processes.look(process, self._last_ns)
        self._last_ns = samples.now_ns()

    def exact(self, usage: Mapping[str, int]) -> dict[str, dict[str, float]]:
        """The kernel counts these for a command and the children that it has waited for."""
        return {name: {"count": count, "seconds": 0} for name, count in usage.items()}

    def sampled_s(self, user_s: float, system_s: float) -> float:
        return user_s + system_s if self._preloaded else 0

    def lost(self) -> int:
        return self._preloaded.lost if self._preloaded else 0

    def unseen(self) -> list[str]:
        return self._unseen_blocks(self._blocked)

    def cost(self) -> dict[str, float]:
        return {"longest_s": self._preloaded.longest_s} if self._preloaded else {}


def _threads(process: int) -> list[int]:
    try:
        return [int(t) for t in os.listdir(f"/proc/{process}/task")]
    except OSError:
        return []


def _complete(found: dict[str, dict[str, float]], blocks: int, missing: float) -> None:
    """Scales what was seen in slices of time to the number of blocks that the kernel has counted.

    Children that nobody has waited for are not in that number: then it is less than half of what slices stand for.
    """
    seen = sum(row["count"] for name, row in found.items() if name.split()[0] == "block")
    by = blocks / seen if seen and 2 * blocks >= seen * missing else missing
    for name, row in found.items():
        if not name.startswith(("fault", "shootdown")):
            row["count"], row["seconds"] = row["count"] * by, row["seconds"] * by


def _tier(spool: samples.Spool, processes: Processes, target: Target, family: Sequence[int], allowed: str) -> _Tier:
    missing = []
    if allowed == "bpf":
        try:
            return _ByBpf(spool, processes, target, family)
        except (Unavailable, OSError) as error:
            missing.append(f"wake-ups, shootdowns and the length of each block, counted exactly: {error}")
    else:
        missing.append(f"what BPF counts, as --without-{'bpf' if allowed == 'events' else 'perf'} was given")
    if target.system:
        raise Refused("--system needs BPF: see vfriendly measure -- COMMAND for why it cannot be used")
    tier: _Tier | None = None
    if allowed != "proc":
        try:
            tier = _ByEvents(spool, processes, target, family)
        except OSError as error:
            missing.append("time in the kernel, page faults by line: perf_event_open: "
                           f"{hints.of_perf(error.errno or 0)}")
    tier = tier or _ByProc(spool, processes, target)
    tier.missing[:0] = missing
    return tier


def _blocks(spool: samples.Spool, processes: Processes, target: Target, tier: _Tier) -> Blocks | None:
    if not target.blocks:
        return None
    try:
        found = Blocks(spool, processes, target.command)
    except preloading.Unavailable as error:
        tier.missing.append(f"blocks of memory: the preloaded library cannot be used: {error}")
        return None
    found.looks_at_mappings = isinstance(tier, _ByProc)
    return found


def collect(target: Target, progress: Callable[[str], None], allowed: str = "bpf") -> Collected:
    """Measures until the target ends, the time is over, or the user interrupts."""
    spool, processes, nodes, threads = samples.Spool(), Processes(), Nodes(), Threads()
    child = Child(target.command, target.environment) if target.command else None
    family = [child.pid] if child else psutil.pids() if target.system else _family(target.process)
    try:
        tier = _tier(spool, processes, target, [] if target.system else family, allowed)
        memory = _blocks(spool, processes, target, tier)
    except BaseException:
        if child:
            child.stop()
        raise
    if not child:
        for process in family:
            processes.snapshot(process)
        nodes.begin(family)
    threads.begin([] if target.system else family)
    prover = Prover()
    before, began, began_ns = Machine.now(), time.monotonic(), samples.now_ns()
    cpu_before, own_before = _cpu_of(family) if not child else (0.0, 0.0), time.process_time()
    interrupted = False
    last, looked = began, 0.0
    try:
        if child:
            environment = tier.environment(target.environment)
            child.go(memory.environment(environment or target.environment) if memory else environment)
        while not (child and child.ended()):
            if not target.system and last - looked > 1:  # Children are few and live long, or are not in /proc anyway.
                family, looked = _family_or(family), last
            now = time.monotonic()
            tier.poll(family, POLL_S)
            if memory:
                memory.read(family)
            nodes.look(family)
            if not target.system:
                threads.look(family)
                if allowed != "proc":
                    prover.look(family)
            last = now
            progress(f"measuring, {now - began:.0f} s, {spool.count} samples")
            if target.seconds and now - began >= target.seconds:
                break
            if not child and not target.system and not psutil.pid_exists(target.process):
                break
    except KeyboardInterrupt:
        interrupted = True
    except BaseException:
        if child:
            child.stop()
        raise
    nodes.look(family, last=True)
    if not target.system and not (child and child.ended()):
        threads.look(family, last=True)
    wall, own = time.monotonic() - began, time.process_time() - own_before
    tier.poll([], 0)
    if memory:
        memory.read([], last=True)
    inside, grown, crowd = tier.cost(), Machine.now().since(before), threads.crowd(tier.ended())
    ended = child.status if child else None
    exact = {**tier.exact(child.counts() if child else {}), **nodes.exact()}
    if child and ended is None:
        child.stop()
    family = psutil.pids() if target.system else _family_or(family)
    user, system = child.cpu() if child else _difference(_cpu_of(family), cpu_before)
    progress("finding places")
    resolver = Resolver(processes)
    timed = resolver.stacks(spool.samples(), tier.period_s)
    stacks = scaled(joined(t.stack for t in timed), exact)
    if target.sites:
        stacks += target.sites.stacks(resolver.symbols)
    if crowd:
        crowd.pools = _pools(threads, crowd, processes, resolver, stacks)
    missing = [*tier.missing, *tier.unseen(), *resolver.missing]
    seen = {stack.cause for stack in stacks if stack.what in LOST}
    unknown = [*tier.unknown, *(f"{cause} cpu" for cause in resolver.unknown(tier.calls_known) if cause not in seen)]
    if memory and memory.lost:
        missing.append(f"{memory.lost} sampled blocks of memory found no room: the counts by place are too low")
    if tier.lost():
        missing.append(f"{tier.lost()} samples found no room; counts are complete, their places are not")
    else:
        missing += hints.of_few_samples(tier.sampled_s(user, system),
                                        sum(s.seconds for s in stacks if s.what in ON_CPU), 1 / tier.period_s)
    if resolver.lost_code:
        missing.append(f"{resolver.lost_code} samples in code of no file, such as code that was compiled at run time")
    delay_s = _run_delay(exact, crowd)
    by_cpu = vcpus.rows(timed, user + system, tier.delays() or threads.for_cpu, delay_s, grown.steal_by_cpu,
                        threads.on_cpu, "spinning cpu" not in unknown)
    missing += vcpus.missing(by_cpu)
    overhead = {"beside_s": own, "samples": float(spool.count), **inside}
    profile = Profile(
        list(target.command) or ["all processes" if target.system else f"process {target.process}"], tier.name, missing,
        os.cpu_count() or 1, wall, user, system, grown.steal_s, grown.throttled_s, delay_s, exact,
        overhead, stacks, resolver.modules(), tier.period_s, timeline(timed, began_ns, wall), crowd, unknown,
        prover.end(), by_cpu)
    return Collected(profile, ended, interrupted)


def _run_delay(exact: Mapping[str, Mapping[str, float]], crowd: Crowd | None) -> float | None:
    """Returns how long threads waited for a CPU: as BPF has counted, or as the kernel does by thread."""
    counted = [row["seconds"] for name, row in exact.items() if name.startswith("delay")]
    return sum(counted) if counted else crowd.delay_s if crowd else None


def _pools(threads: Threads, crowd: Crowd, processes: Processes, resolver: Resolver,
           stacks: Sequence[Stack]) -> list[str]:
    """Returns the names of the pools whose program, libraries or threads were seen."""
    paths = {m.path for process in threads.processes for image in processes.images.get(process, ())
             for m in image.mappings if m.path.startswith("/")}
    functions = {frame.function for s in stacks for frame in s.frames}
    found = pools.seen(set(threads.processes.values()), paths, set(crowd.names), functions, resolver.is_go(paths))
    return [p.name for p in found]


def _family_or(family: list[int]) -> list[int]:
    try:
        return _family(family[0])
    except Refused:
        return family


def _difference(now: tuple[float, float], then: tuple[float, float]) -> tuple[float, float]:
    return now[0] - then[0], now[1] - then[1]


def scaled(stacks: Sequence[Stack], exact: dict[str, dict[str, float]]) -> list[Stack]:
    """Scales the sampled counts, of each kind and system call, to what was counted exactly."""
    def key(s: Stack) -> str:
        return f"{s.what} {s.call}".strip()

    counts, seconds = defaultdict[str, float](float), defaultdict[str, float](float)
    for s in stacks:
        counts[key(s)] += s.count
        seconds[key(s)] += s.seconds
    done = []
    for s in stacks:
        row = exact.get(key(s)) if s.what in ("block", "wake", "shootdown", "fault") else None
        if row and counts[key(s)]:
            by = row["seconds"] / seconds[key(s)] if row["seconds"] and seconds[key(s)] else 1
            s = replace(s, count=s.count * row["count"] / counts[key(s)], seconds=s.seconds * by)
        done.append(s)
    return done
