# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the callers of a sample in its copy of the stack, by elfutils' libdw.

Optimized code has no frame pointers; what a function keeps on the stack is in .eh_frame, which
every program has for exceptions. libdw reads it, here by ctypes.
"""

import ctypes
import os
import struct
from collections.abc import Sequence
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_bool, c_char_p, c_int, c_uint64, c_void_p

from vfriendly import regular
from vfriendly.measuring.processes import Mapping
from vfriendly.measuring.samples import BP, IP, REGISTERS, SP, Sample

# Frames beyond this are of a recursion, or of a stack that was not copied that far.
DEEPEST = 48
_OK, _ABORT = 0, 1

_FindElf = CFUNCTYPE(c_int, c_void_p, c_void_p, c_char_p, c_uint64, c_void_p, c_void_p)
_FindDebug = CFUNCTYPE(c_int, c_void_p, c_void_p, c_char_p, c_uint64, c_char_p, c_char_p, c_void_p, c_void_p)
_NextThread = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
_GetThread = CFUNCTYPE(c_bool, c_void_p, c_int, c_void_p, POINTER(c_void_p))
_ReadMemory = CFUNCTYPE(c_bool, c_void_p, c_uint64, POINTER(c_uint64), c_void_p)
_SetRegisters = CFUNCTYPE(c_bool, c_void_p, c_void_p)
_Frame = CFUNCTYPE(c_int, c_void_p, c_void_p)


class _Callbacks(Structure):
    _fields_ = (("find_elf", _FindElf), ("find_debuginfo", _FindDebug), ("section_address", c_void_p),
                ("debuginfo_path", c_void_p))


class _ThreadCallbacks(Structure):
    _fields_ = (("next_thread", _NextThread), ("get_thread", _GetThread), ("memory_read", _ReadMemory),
                ("set_initial_registers", _SetRegisters), ("detach", c_void_p), ("thread_detach", c_void_p))


def _library() -> ctypes.CDLL:
    dw = ctypes.CDLL("libdw.so.1")
    dw.dwfl_begin.restype = c_void_p
    dw.dwfl_report_elf.restype = c_void_p
    dw.dwfl_report_elf.argtypes = [c_void_p, c_char_p, c_char_p, c_int, c_uint64, c_bool]
    dw.dwfl_attach_state.argtypes = [c_void_p, c_void_p, c_int, c_void_p, c_void_p]
    dw.dwfl_attach_state.restype = c_bool
    dw.dwfl_getthread_frames.argtypes = [c_void_p, c_int, _Frame, c_void_p]
    dw.dwfl_frame_pc.argtypes = [c_void_p, POINTER(c_uint64), POINTER(c_bool)]
    dw.dwfl_frame_pc.restype = c_bool
    dw.dwfl_thread_state_registers.argtypes = [c_void_p, c_int, ctypes.c_uint, POINTER(c_uint64)]
    dw.dwfl_thread_state_registers.restype = c_bool
    for name in ("dwfl_report_begin", "dwfl_report_end", "dwfl_end"):
        getattr(dw, name).argtypes = [c_void_p] * (3 if name == "dwfl_report_end" else 1)
    return dw


class _State:
    """libdw's view of the mappings of a process. A process that was forked has the same."""

    def __init__(self, dw: ctypes.CDLL, mappings: Sequence[Mapping], biases: dict[Mapping, int]) -> None:
        self._dw = dw
        self._sample: Sample | None = None
        self._sp = 0
        self._words: tuple[int, ...] = ()
        self._found: list[int] = []
        self._callbacks = _Callbacks(_FindElf(lambda *_: -1), _FindDebug(lambda *_: -1), None, None)
        self._thread = _ThreadCallbacks(_NextThread(lambda *_: 0), _GetThread(self._get_thread),
                                        _ReadMemory(self._read), _SetRegisters(self._set_registers), None, None)
        self._frame = _Frame(self._each)
        self._dwfl = dw.dwfl_begin(byref(self._callbacks))
        dw.dwfl_report_begin(self._dwfl)
        for mapping, bias in biases.items():
            # libdw would wait for ever if the process had put a FIFO in place of its file. It closes what it
            # is given, unless it refuses the file.
            path = os.fsencode(mapping.path)
            try:
                with regular.open_regular(mapping.path) as file:
                    copy = os.dup(file.fileno())
            except OSError:
                continue
            if not dw.dwfl_report_elf(self._dwfl, path, path, copy, bias, True):
                os.close(copy)
        dw.dwfl_report_end(self._dwfl, None, None)
        self._usable = dw.dwfl_attach_state(self._dwfl, None, 1, byref(self._thread), None)

    def _get_thread(self, _dwfl: int, _thread: int, _arg: int, result: "ctypes._Pointer[c_void_p]") -> bool:
        return True

    def _read(self, _dwfl: int, address: int, result: "ctypes._Pointer[c_uint64]", _arg: int) -> bool:
        at = address - self._sp
        if at < 0 or at & 7 or at >> 3 >= len(self._words):
            return False
        result[0] = self._words[at >> 3]
        return True

    def _set_registers(self, thread: int, _arg: int) -> bool:
        assert self._sample
        values = (c_uint64 * REGISTERS)(*self._sample.registers)
        return bool(self._dw.dwfl_thread_state_registers(thread, 0, REGISTERS, values))

    def _each(self, frame: int, _arg: int) -> int:
        pc, active = c_uint64(), c_bool()
        if not self._dw.dwfl_frame_pc(frame, byref(pc), byref(active)):
            return _ABORT
        # A return address may be that of the next line, or of the next function.
        self._found.append(pc.value if active.value else pc.value - 1)
        return _OK if len(self._found) < DEEPEST else _ABORT

    def frames(self, sample: Sample) -> list[int]:
        self._sample, self._found = sample, []
        self._sp = sample.registers[SP]
        count = len(sample.stack) // 8
        self._words = struct.unpack_from(f"<{count}Q", sample.stack)
        if self._usable:
            self._dw.dwfl_getthread_frames(self._dwfl, 1, self._frame, None)
        return self._found or [sample.registers[IP]]

    def close(self) -> None:
        self._dw.dwfl_end(self._dwfl)


class Unwinder:
    """Gives the addresses of a sample's frames, the innermost first."""

    def __init__(self) -> None:
        self.missing = ""
        self._states: dict[tuple[tuple[Mapping, int], ...], _State] = {}
        try:
            self._dw: ctypes.CDLL | None = _library()
        except (OSError, AttributeError):
            self._dw = None
            self.missing = "callers of code without frame pointers: apt-get install libdw1"

    def frames(self, sample: Sample, biases: dict[Mapping, int]) -> list[int]:
        if not self._dw:
            return by_frame_pointers(sample)
        key = tuple(biases.items())
        state = self._states.get(key)
        if not state:
            state = self._states[key] = _State(self._dw, list(biases), biases)
        return state.frames(sample)


def by_frame_pointers(sample: Sample) -> list[int]:
    """Returns what a chain of frame pointers shows; without libdw, and to compare with."""
    frames = [sample.registers[IP]]
    at, sp = sample.registers[BP], sample.registers[SP]
    while len(frames) < DEEPEST and 0 <= at - sp <= len(sample.stack) - 16 and not (at - sp) & 7:
        below, pc = struct.unpack_from("<QQ", sample.stack, at - sp)
        if not pc:
            break
        frames.append(pc - 1)
        if below <= at:
            break
        at = below
    return frames

