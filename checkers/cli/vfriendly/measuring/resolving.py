# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Turns samples into stacks with names and causes."""

import os
import re
from collections import Counter
from collections.abc import Iterable

from vfriendly import programs, regular
from vfriendly.measuring import allocators
from vfriendly.measuring import samples as kinds
from vfriendly.measuring.processes import Mapping, Processes
from vfriendly.measuring.profile import Stack, Timed
from vfriendly.measuring.samples import Sample
from vfriendly.measuring.symbols import Frame, Symbols
from vfriendly.measuring.unwinding import Unwinder
from vfriendly.measuring.waits import Waits, is_wait_function

# Those that wait, wake, or change mappings, and frequent others; x86-64.
CALLS = {
    0: "read", 1: "write", 7: "poll", 9: "mmap", 10: "mprotect", 11: "munmap", 12: "brk", 17: "pread64", 18: "pwrite64",
    20: "writev", 23: "select", 24: "sched_yield", 25: "mremap", 28: "madvise", 34: "pause", 35: "nanosleep",
    42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom", 46: "sendmsg", 47: "recvmsg", 56: "clone", 59: "execve",
    60: "exit", 61: "wait4", 64: "semget", 65: "semop", 74: "fsync", 75: "fdatasync", 128: "rt_sigtimedwait",
    202: "futex", 208: "io_getevents", 220: "semtimedop", 230: "clock_nanosleep", 231: "exit_group", 232: "epoll_wait",
    247: "waitid", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4", 435: "clone3",
    441: "epoll_pwait2", 449: "futex_waitv",
}
_MEMORY = {"munmap", "madvise", "mprotect", "brk", "mremap", "mmap"}
_SYNC = {"futex", "futex_waitv", "semop", "semtimedop", "nanosleep", "clock_nanosleep"}
_WHATS = {kinds.BLOCK: "block", kinds.WAKE: "wake", kinds.SHOOTDOWN: "shootdown", kinds.FAULT: "fault"}
FATES = {kinds.KEPT: "kept", kinds.TEMPORARY: "temporary", kinds.FREED: "freed", kinds.PASSED: "passed"}
# Modules of code that is in no file: //anon in the kernel's events.
_NO_FILE = ("[anonymous]", "[unknown]")
# Frames in which the loop of a wait is looked for: std::atomic's load of unoptimized code is three calls deep.
_CALLERS = 4
# Share of the samples below which the code around an address is not looked at. It may be in a loop that is known by
# another one.
_LEAST_SHARE = 0.002


def call_name(number: int) -> str:
    return CALLS.get(number, f"system call {number}") if number >= 0 else ""


def _call_of(function: str) -> str:
    """Returns the system call that a function of libc makes, where only its name is known."""
    name = re.sub(r"^_*(GI_+)?(libc_)?|64$", "", function)
    return "futex" if "futex" in name or "lll_" in name else name if name in CALLS.values() else ""


def cause_of(kind: int, call: str) -> str:
    if kind == kinds.SHOOTDOWN or (kind == kinds.CPU and call in _MEMORY):
        return "data sharing"
    if kind == kinds.FAULT:
        return "page faults"
    return "blocking" if call in _SYNC else "other"


class Resolver:
    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._unwinder, self.symbols, self._waits = Unwinder(), Symbols(), Waits()
        self._elfs: dict[str, programs.Elf | None] = {}
        self._after_call: dict[tuple[str, int], bool] = {}
        self.lost_code = 0  # samples of a place that no file has

    @property
    def missing(self) -> list[str]:
        return [m for m in (self._unwinder.missing, self.symbols.missing, self._waits.missing) if m]

    def unknown(self, calls_known: bool) -> list[str]:
        """Returns the causes whose CPU time is not known for want of a tool: without names of functions, calls of the
        allocator are not, and neither are system calls, unless the kernel has told which they are."""
        by_names = ["allocation"] if calls_known else ["allocation", "blocking", "data sharing"]
        return (["spinning"] if self._waits.missing else []) + (by_names if self.symbols.missing else [])

    def is_go(self, paths: Iterable[str]) -> bool:
        return any(elf.is_go for path in paths if (elf := self._elf(path)))

    def modules(self) -> dict[str, str]:
        return {path: elf.build_id for path, elf in self._elfs.items() if elf}

    def _elf(self, path: str) -> programs.Elf | None:
        if path not in self._elfs:
            try:
                self._elfs[path] = programs.read_elf(path) if path.startswith("/") else None
            except OSError:
                self._elfs[path] = None
        return self._elfs[path]

    def _biases(self, mappings: Iterable[Mapping]) -> dict[Mapping, int]:
        """Returns, for each mapping of a file's code, what to subtract from its addresses."""
        found = {}
        for m in mappings:
            elf = self._elf(m.path)
            for offset, address in elf.code if elf else ():
                if offset & ~0xfff == m.offset:
                    found[m] = m.begin - (address & ~0xfff)
        return found

    def _located(self, address: int, mappings: tuple[Mapping, ...], biases: dict[Mapping, int]) -> tuple[str, int]:
        for m in reversed(mappings):
            if m.begin <= address < m.end:
                name = m.path if m.path not in ("", "//anon") else "[anonymous]"
                return (m.path, address - biases[m]) if m in biases else (name, address)
        return "[unknown]", address

    def stacks(self, given: Iterable[Sample], period_s: float) -> list[Timed]:
        """Returns each sample's stack, and when and where it was taken."""
        located: list[tuple[Sample, list[tuple[str, int]]]] = []
        cache: dict[tuple[Mapping, ...], dict[Mapping, int]] = {}
        for s in given:
            image = self._processes.image(s.process, s.ns)
            mappings = image.at(s.ns) if image else ()
            if mappings not in cache:
                cache[mappings] = self._biases(mappings)
            biases = cache[mappings]
            places = [self._located(a, mappings, biases) for a in self._unwinder.frames(s, biases)]
            self.lost_code += places[0][0] in _NO_FILE
            located.append((s, places))
        # Tools would wait for ever for a FIFO in place of a file.
        self.symbols.load(p for _, places in located for p in places if self._elf(p[0]))
        # The loop of a wait may be in a caller: of a yield, or of a function that was not inlined.
        tops = {tuple(places[:_CALLERS]) for s, places in located if s.kind == kinds.CPU and not s.kernel}
        on_cpu = [places for s, places in located if s.kind == kinds.CPU]
        seen = Counter(place for places in on_cpu for place in set(places[:_CALLERS]))
        for place, count in seen.items():
            if count >= _LEAST_SHARE * len(on_cpu) and self._elf(place[0]):
                self._waits.is_wait(*place)
        spins = {top for top in tops if self._spins(top)}
        return [Timed(s.ns, s.cpu, self._stack(s, places, tuple(places[:_CALLERS]) in spins, period_s))
                for s, places in located]

    def _spins(self, top: tuple[tuple[str, int], ...]) -> bool:
        if any(is_wait_function(f.function) for f in self.symbols.frames(*top[0])):
            return True
        return any(self._waits.is_in_known(*place) for place in top)

    def _is_after_call(self, module: str, address: int) -> bool:
        """Returns True if the instruction before the address is a system call: perf events do not tell which."""
        key = (module, address)
        if key not in self._after_call:
            elf = self._elf(module)
            segment = max(((a, o) for o, a in elf.code if a <= address), default=None) if elf else None
            self._after_call[key] = segment is not None and \
                self._is_call_before(module, segment[1] + address - segment[0])
        return self._after_call[key]

    @staticmethod
    def _is_call_before(path: str, end: int) -> bool:
        try:
            with regular.open_regular(path) as file:
                file.seek(end - len(kinds.SYSCALL))
                return file.read(len(kinds.SYSCALL)) == kinds.SYSCALL
        except (OSError, ValueError):  # ValueError: it would begin before the file.
            return False

    def _stack(self, s: Sample, places: list[tuple[str, int]], spins: bool, period_s: float) -> Stack:
        frames: list[Frame] = []
        for place in places:
            frames += self.symbols.frames(*place)
        if s.kind == kinds.MEMORY:
            return Stack("memory", "allocation", FATES[s.fate], s.weight, 0.0, 0.0, tuple(frames), s.weight * s.bytes)
        call = call_name(s.call)
        if not call and s.kind != kinds.FAULT and (s.kernel or s.kind != kinds.CPU):
            call = _call_of(frames[0].function)
        cause = cause_of(s.kind, call)
        what = _WHATS.get(s.kind)
        if what:
            # A look at /proc stands for no block, but for its time.
            weight = s.weight or 1
            return Stack(what, cause, call, s.weight, weight * s.blocked_ns / 1e9, weight * s.delay_ns / 1e9,
                         tuple(frames))
        seconds = s.weight * period_s
        if s.kernel:
            # Without a call it is an interrupt or a fault; most of the time is in faults.
            if not call and s.call != kinds.SOME_CALL and not self._is_after_call(*places[0]):
                # Those of the loader are of each program's start.
                cause = "other" if os.path.basename(frames[0].module).startswith("ld-linux") else "page faults"
            # A thread that yields until something has happened spins: it never sleeps.
            if call == "sched_yield":
                return Stack("spin", "spinning", call, s.weight, seconds, 0, tuple(frames))
            return Stack("kernel", cause, call, s.weight, seconds, 0, tuple(frames))
        what, cause = ("spin", "spinning") if spins else \
            ("alloc", "allocation") if allocators.entry(frames) >= 0 else ("cpu", "other")
        return Stack(what, cause, "", s.weight, seconds, 0, tuple(frames))
