# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads collect.bpf.o by libbpf, and reads what it counts and samples."""

import ctypes
import os
import struct
import time
from collections import Counter
from collections.abc import Iterator
from ctypes import CFUNCTYPE, byref, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path

from vfriendly import tools
from vfriendly.errors import Refused
from vfriendly.measuring import hints, perf, samples
from vfriendly.measuring.slices import LOOK_S, Cost, Slices

OBJECT = "vfriendly-collect.bpf.o"
# Samples of a CPU's time each second: 2 ms are 10 % of a cause that takes 20 ms. Each costs 4 µs to copy, and in a
# virtual machine two exits for its timer, of 3.5 µs each (vfriendly measure model): some 0.5 %.
CLOCK_HZ = 499
# Samples of events on all CPUs each second above which fewer are taken. A sample costs some 4 µs.
MOST_SAMPLES = 400
# Programs that run at each switch and wake-up. They are attached only in the slices in which these are looked at.
SWITCHES = (b"tp_btf/sched_switch", b"tp_btf/sched_waking")
# The settings of collect.bpf.h.
SCALE, ALL, LOST, SLICE, WEIGHT, MOST, UNTIL, ENDED = range(8)
_NEVER = (1 << 64) - 1
_KEY = struct.Struct("<IIq")
_THREAD = struct.Struct("<I")
_TOTAL = struct.Struct("<QQ")
_COST = struct.Struct("<5Q")
_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
_OnSample = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)


class Unavailable(Exception):
    """BPF cannot be used; the text says why, and what would help."""


@dataclass
class Totals:
    """Counts and nanoseconds of (process, kind, system call), and nanoseconds in which threads waited for each CPU.

    A thread's counts of up to 0.1 s are added on the CPU on which it then is.
    """

    count: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    ns: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    delay_ns: Counter[int] = field(default_factory=Counter)


def _library() -> ctypes.CDLL:
    try:
        bpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
    except OSError:
        raise Unavailable("libbpf is not installed: apt-get install libbpf1") from None
    for name in ("bpf_object__open_file", "bpf_object__next_program", "bpf_program__attach",
                 "bpf_program__attach_perf_event", "ring_buffer__new", "bpf_object__next_map"):
        getattr(bpf, name).restype = c_void_p
    bpf.bpf_object__open_file.argtypes = [c_char_p, c_void_p]
    bpf.bpf_object__load.argtypes = [c_void_p]
    bpf.bpf_object__next_program.argtypes = [c_void_p, c_void_p]
    bpf.bpf_program__attach.argtypes = [c_void_p]
    bpf.bpf_link__destroy.argtypes = [c_void_p]
    bpf.bpf_program__section_name.restype = c_char_p
    bpf.bpf_program__section_name.argtypes = [c_void_p]
    bpf.bpf_program__fd.argtypes = [c_void_p]
    bpf.bpf_program__attach_perf_event.argtypes = [c_void_p, c_int]
    bpf.bpf_object__find_map_fd_by_name.argtypes = [c_void_p, c_char_p]
    bpf.ring_buffer__new.argtypes = [c_int, _OnSample, c_void_p, c_void_p]
    bpf.ring_buffer__consume.argtypes = [c_void_p]
    bpf.bpf_map_update_elem.argtypes = [c_int, c_void_p, c_void_p, c_uint64]
    bpf.bpf_map_lookup_elem.argtypes = [c_int, c_void_p, c_void_p]
    bpf.bpf_map_get_next_key.argtypes = [c_int, c_void_p, c_void_p]
    bpf.libbpf_set_print(None)
    return bpf


class Bpf:
    def __init__(self, spool: samples.Spool) -> None:
        """Raises Unavailable."""
        if os.uname().machine != "x86_64":
            raise Unavailable("only x86-64 is known")
        if not os.path.exists("/sys/kernel/btf/vmlinux"):
            raise Unavailable("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF, since Linux 5.4)")
        try:
            if os.readlink("/proc/self/ns/pid") != _INITIAL_PID_NAMESPACE:
                raise Unavailable("this is a container with its own process numbers: measure from the host")
        except OSError:
            pass
        try:
            path = tools.library(OBJECT, None, "VFRIENDLY_LIB=FOLDER, not --library")
        except Refused:
            raise Unavailable(f"{OBJECT} was not found: ./dev build makes it if libbpf-dev is there") from None
        self._bpf = _library()
        self._spool, self.lost = spool, 0
        self._objects: list[object] = []  # that must live as long as this
        self._object = self._bpf.bpf_object__open_file(path.encode(), None)
        if not self._object or self._bpf.bpf_object__load(self._object):
            code = ctypes.get_errno()
            raise Unavailable(f"BPF programs cannot be loaded: {hints.of_bpf(code)}")
        self._map = {name: self._bpf.bpf_object__find_map_fd_by_name(self._object, name.encode())
                     for name in ("processes", "totals", "ended", "samples", "settings", "costs")}
        self._cpus = _possible_cpus()
        self._switches: dict[int, int | None] = {}  # program -> its link while it is attached
        self._attach()
        callback = _OnSample(self._on_sample)
        self._objects.append(callback)
        self._ring = self._bpf.ring_buffer__new(self._map["samples"], callback, None, None)
        if not self._ring:
            raise Unavailable("no memory for samples")
        self._scale, self._events = 1, 0
        self._began_ns, self.slices, self._slice = samples.now_ns(), Slices(), 0
        self._begin_slice(1, _NEVER)

    def _attach(self) -> None:
        program = None
        while program := self._bpf.bpf_object__next_program(self._object, program):
            section = self._bpf.bpf_program__section_name(program)
            if section in SWITCHES:
                self._switches[program] = None
                continue
            if section != b"perf_event":
                self._link(program)
                continue
            for cpu in perf.online_cpus():
                clock = perf.Attributes(perf.SOFTWARE, perf.CPU_CLOCK, CLOCK_HZ, flags=perf.FREQ)
                try:
                    file = perf.open_event(clock, -1, cpu)
                except OSError as error:
                    raise Unavailable(f"CPUs cannot be sampled: {error.strerror}") from None
                if not self._bpf.bpf_program__attach_perf_event(program, file):
                    raise Unavailable(f"CPUs cannot be sampled: {os.strerror(ctypes.get_errno())}")

    def _link(self, program: int) -> int:
        link: int | None = self._bpf.bpf_program__attach(program)
        if not link:
            raise Unavailable(f"a BPF program cannot be attached: {os.strerror(ctypes.get_errno())}")
        return link

    def _look(self, on: bool) -> None:
        for program, link in self._switches.items():
            if on and not link:
                self._switches[program] = self._link(program)
            elif not on and link:
                self._bpf.bpf_link__destroy(link)
                self._switches[program] = None

    def _on_sample(self, _context: int, data: int, size: int) -> int:
        record = samples.trimmed(ctypes.string_at(data, size))
        self._spool.add(record)
        if record[0] not in (samples.CPU, samples.SPAN):
            self._events += 1
        return 0

    def _set(self, which: int, value: int) -> None:
        self._bpf.bpf_map_update_elem(self._map["settings"], byref(c_uint32(which)), byref(c_uint64(value)), 0)

    def _get(self, which: int) -> int:
        value = c_uint64()
        self._bpf.bpf_map_lookup_elem(self._map["settings"], byref(c_uint32(which)), byref(value))
        return value.value

    def _now_s(self) -> float:
        return (samples.now_ns() - self._began_ns) / 1e9

    def _begin_slice(self, weight: int, until_ns: int) -> None:
        self._slice += 1
        most_ns = int(self.slices.most_s(Cost(), 0) * 1e9) if self.slices.whole else _NEVER
        for which, value in ((ENDED, 0), (WEIGHT, weight), (UNTIL, until_ns), (MOST, most_ns), (SLICE, self._slice)):
            self._set(which, value)
        self._look(True)

    def _watch_whole(self) -> None:
        """Raises what looking may cost, or leaves out the rest if it was that much."""
        cost, ended_ns = self._cost(), self._get(ENDED)
        if ended_ns:
            self.slices.end_whole(cost, (ended_ns - self._began_ns) / 1e9)
            self._look(False)
        else:
            self._set(MOST, int(self.slices.most_s(cost, self._now_s()) * 1e9))

    def _wait(self, seconds: float) -> None:
        """Lets the time pass, and looks at switches and wake-ups in as much of it as the budget holds."""
        end_s = self._now_s() + seconds
        if self.slices.whole:
            time.sleep(seconds)
            self._watch_whole()
        while not self.slices.whole and (left := end_s - self._now_s()) > 0:
            began_ns = samples.now_ns()
            weight = self.slices.look(self._cost(), self._now_s())
            if not weight:
                self._look(False)
                time.sleep(left)
                return
            self._begin_slice(weight, began_ns + int(LOOK_S * 1e9))
            time.sleep(LOOK_S)
            self._set(SLICE, 0)
            self.slices.looked(self._cost(), min(LOOK_S, (samples.now_ns() - began_ns) / 1e9))

    def follow(self, process: int, from_exec: bool) -> None:
        """Measures a process and its children, at once or from its next exec."""
        state = c_uint32(1 if from_exec else 2)
        self._bpf.bpf_map_update_elem(self._map["processes"], byref(c_uint32(process)), byref(state), 0)

    def follow_all(self) -> None:
        self._set(ALL, 1)

    def poll(self, seconds: float) -> None:
        """Takes samples for about this time, and takes fewer of events that are frequent."""
        self._events = 0
        seen_s = self.slices.seen_s
        self._wait(seconds)
        looked = self.slices.whole or self.slices.seen_s > seen_s
        self._bpf.ring_buffer__consume(self._ring)
        if self._events > MOST_SAMPLES * seconds * 2:
            self._scale *= 2
            self._set(SCALE, self._scale)
        elif looked and self._scale > 1 and self._events < MOST_SAMPLES * seconds / 4:
            self._scale //= 2
            self._set(SCALE, self._scale)

    def _rows(self, name: str, form: struct.Struct) -> Iterator[tuple[tuple[int, ...], int, int, int]]:
        """Yields key, CPU, count and nanoseconds of each CPU in a map."""
        values = ctypes.create_string_buffer(_TOTAL.size * self._cpus)
        key, following = None, ctypes.create_string_buffer(form.size)
        while self._bpf.bpf_map_get_next_key(self._map[name], key, following) == 0:
            key = ctypes.create_string_buffer(following.raw, form.size)
            if self._bpf.bpf_map_lookup_elem(self._map[name], key, values) == 0:
                for cpu, (count, ns) in enumerate(_TOTAL.iter_unpack(values.raw)):
                    yield form.unpack(key.raw), cpu, count, ns

    def totals(self) -> Totals:
        totals = Totals()
        for (process, kind, call), cpu, count, ns in self._rows("totals", _KEY):
            totals.count[process, kind, call] += count
            totals.ns[process, kind, call] += ns
            if kind == samples.DELAY:
                totals.delay_ns[cpu] += ns
        self.lost = self._get(LOST)
        return totals

    def ended(self) -> dict[int, tuple[float, float]]:
        """Returns how many blocks of others each thread has ended by its wake-ups, and the seconds of these."""
        found: dict[int, tuple[float, float]] = {}
        by = self.missing()
        for (thread,), _, count, ns in self._rows("ended", _THREAD):
            before = found.get(thread, (0.0, 0.0))
            found[thread] = (before[0] + by * count, before[1] + by * ns / 1e9)
        return found

    def _costs(self) -> list[tuple[int, ...]]:
        values = ctypes.create_string_buffer(_COST.size * self._cpus)
        self._bpf.bpf_map_lookup_elem(self._map["costs"], byref(c_uint32(0)), values)
        return list(_COST.iter_unpack(values.raw))

    def _cost(self) -> Cost:
        rows = self._costs()
        return Cost(sum(row[0] for row in rows) / 1e9, sum(row[0] > 0 for row in rows),
                    sum(row[3] for row in rows) / CLOCK_HZ, sum(row[4] for row in rows) / CLOCK_HZ)

    def missing(self) -> float:
        """Returns by what the counts of switches and wake-ups are to be multiplied to stand for all of the time."""
        return self.slices.missing(self._cost())

    def seconds(self) -> float:
        """Returns the time that the BPF programs have taken, as they have measured it."""
        return sum(row[0] + row[1] for row in self._costs()) / 1e9

    def looked_at(self) -> int:
        """Returns how many switches and wake-ups were looked at."""
        return sum(row[2] for row in self._costs())


def _possible_cpus() -> int:
    text = Path("/sys/devices/system/cpu/possible").read_text().strip()
    return int(text.replace(",", "-").split("-")[-1]) + 1
