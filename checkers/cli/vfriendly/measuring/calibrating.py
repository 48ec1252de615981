# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what single events cost on this machine: a wake-up, a TLB shootdown, an exit to the hypervisor.

It takes about a second, and is kept if nothing else ran: nothing but the kernel and the CPUs changes
these figures by much. Python's own time is measured in the same way without the event, and subtracted.
"""

import ctypes
import hashlib
import json
import mmap
import os
import platform
import signal
import struct
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from vfriendly import cache, documents
from vfriendly.errors import Refused
from vfriendly.measuring import machine

VERSION = 1
_WAKES, _GAP_S = 200, 0.001  # after a pause of 1 ms, the waiter's CPU has nothing to do and halts
_SHOOTDOWNS = 2000
_TIMES = 5
_ITERATIONS = 200000  # some 100 ms: in between, the thread waits for Python's lock for 5 ms
# A call that sent an interrupt takes at least this many times as long as one that did not: 1.4 us is usual
# without, and an interrupt takes a microsecond even without a hypervisor.
_SENT, _LEAST_SENT = 1.5, 50
# Load of the machine, per CPU, below which a calibration is kept. This one is about one CPU's load for a second, and
# the average is of a minute.
_QUIET = 0.25
_CPUIDS = 2000
_CPUID = bytes.fromhex("53 89fe 31c0 0fa2 ffce 75f8 5b c3")  # void f(int n) { do cpuid(0); while (--n); }, x86-64


@dataclass(frozen=True)
class Costs:
    """In seconds."""

    wake_idle: float  # from the wake-up to the run on another CPU that is halted
    wake_busy: float  # the same, if another program keeps that CPU awake
    shootdown: float  # of one other CPU, as seen by the caller; in a virtual machine, with its exit
    exit: float | None  # None: not visible from here
    virtual: bool
    quiet: bool  # nothing else ran


def _quarter(values: Sequence[float]) -> float:
    """Returns the lower quartile: what else runs on the machine only adds time."""
    return sorted(values)[len(values) // 4]


def _wake(cpus: tuple[int, int], busy: bool) -> float:
    """Returns the time from a write to a pipe until a process on the second CPU has read it."""
    there, back = os.pipe(), os.pipe()
    children = [_child(cpus[1], lambda: _answer(there[0], back[1]))]
    if busy:
        children.append(_child(cpus[1], _spin))
    try:
        os.sched_setaffinity(0, {cpus[0]})
        taken, own = [], []
        for _ in range(_WAKES):
            time.sleep(_GAP_S)
            began = time.monotonic_ns()
            os.write(there[1], b"x")
            taken.append(struct.unpack("<Q", os.read(back[0], 8))[0] - began)
        for _ in range(_WAKES):  # the same without another process
            began = time.monotonic_ns()
            os.write(there[1], b"x")
            own.append(time.monotonic_ns() - began)
        return max(_quarter(taken) - _quarter(own), 0) / 1e9
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        for one in (*there, *back):
            os.close(one)


def _child(cpu: int, work: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setaffinity(0, {cpu})
            work()
        finally:
            os._exit(0)
    return pid


def _answer(reading: int, writing: int) -> None:
    while True:
        os.read(reading, 1)
        os.write(writing, struct.pack("<Q", time.monotonic_ns()))


def _spin() -> None:
    # Of the idle class: it gives way to the waiter at once, but its CPU does not halt.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while os.getppid() != 1:
        pass


def _shootdown(cpus: tuple[int, int]) -> float:
    """Returns what madvise(MADV_DONTNEED) takes longer while a thread of the process runs on the second CPU.

    Beside load that thread runs only now and then, so calls that take as long as without it do not count.
    """
    os.sched_setaffinity(0, {cpus[0]})
    alone = sorted(_drops())
    usual = alone[len(alone) // 2]
    threshold = usual * _SENT
    ended = threading.Event()
    running = threading.Thread(target=_run_on, args=(cpus[1], ended), daemon=True)
    running.start()
    sent: list[int] = []
    count = 0
    while count < _TIMES:
        count += 1
        sent += [ns for ns in _drops() if ns > threshold]
        if len(sent) > _SHOOTDOWNS // 2:
            break
    ended.set()
    running.join()
    outliers = count * sum(ns > threshold for ns in alone)
    if len(sent) < _LEAST_SENT or len(sent) < 3 * outliers:
        raise Refused("the machine is too busy to measure a shootdown: try again later")
    return (sorted(sent)[len(sent) // 2] - usual) / 1e9


def _run_on(cpu: int, ended: threading.Event) -> None:
    os.sched_setaffinity(0, {cpu})
    while not ended.is_set():  # this function runs without Python's lock, so it holds up nobody
        hashlib.pbkdf2_hmac("sha256", b"", b"", _ITERATIONS)


def _drops() -> list[int]:
    memory = mmap.mmap(-1, mmap.PAGESIZE)
    times = []
    for _ in range(_SHOOTDOWNS):
        memory[0] = 1
        began = time.perf_counter_ns()
        memory.madvise(mmap.MADV_DONTNEED)
        times.append(time.perf_counter_ns() - began)
    memory.close()
    return times


def _exit() -> float | None:
    """Returns the time of a CPUID, which each hypervisor intercepts. None outside of a virtual machine."""
    if platform.machine() != "x86_64" or not machine.is_virtual():
        return None
    try:
        code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:  # a policy against code that was written at run time
        return None
    code.write(_CPUID)
    call = ctypes.CFUNCTYPE(None, ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    times = []
    for _ in range(8):
        began = time.perf_counter_ns()
        call(_CPUIDS // 8)
        times.append((time.perf_counter_ns() - began) / (_CPUIDS // 8))
    return _quarter(times) / 1e9


def calibrate() -> Costs:
    """Raises Refused if this process may use one CPU only."""
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        raise Refused("a calibration needs two CPUs: nothing is sent to another one here")
    cpus = (min(before), max(before))
    quiet = os.getloadavg()[0] <= _QUIET * (os.cpu_count() or 1)
    try:
        return Costs(_wake(cpus, False), _wake(cpus, True), _shootdown(cpus), _exit(), machine.is_virtual(), quiet)
    finally:
        os.sched_setaffinity(0, before)


def costs() -> Costs:
    """Returns the costs on this machine; the first call on a quiet machine measures them."""
    model = next((line for line in machine.cpuinfo().splitlines() if line.startswith("model name")), platform.machine())
    key = hashlib.sha256(repr((VERSION, os.uname().release, model, os.cpu_count())).encode()).hexdigest()[:32]
    file = None
    try:
        file = cache.user_folder() / "costs" / f"{key}.json"
        cache.make_private(file.parent)
        known: Costs = documents.typed(Costs, documents.json_of(file))
        return known
    except (OSError, ValueError):
        pass
    done = calibrate()
    if not done.quiet or not file:
        return done
    try:
        cache.replace(file, json.dumps(asdict(done)).encode())
    except OSError:
        pass  # measured again at the next call
    return done
