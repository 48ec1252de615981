# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a profile in the format of pprof: a compressed protocol buffer, perftools.profiles.Profile.

Each stack is a sample with a value for each of VALUES, and with its cause and system call as labels.
"""

import gzip
from collections.abc import Callable, Iterable

from vfriendly.measuring.profile import ON_CPU, Profile, Stack, is_system, share
from vfriendly.measuring.symbols import Frame


def _counts(what: str) -> Callable[[Stack], float]:
    return lambda s: s.count if s.what == what else 0


# Names and units of a sample's values; pprof shows the first one by default.
VALUES: tuple[tuple[str, str, Callable[[Stack], float]], ...] = (
    ("cpu", "nanoseconds", lambda s: s.seconds * 1e9 if s.what in ON_CPU else 0),
    ("blocked", "nanoseconds", lambda s: s.seconds * 1e9 if s.what == "block" else 0),
    ("delay", "nanoseconds", lambda s: s.delay * 1e9),
    ("blocks", "count", _counts("block")),
    ("wakeups", "count", _counts("wake")),
    ("shootdowns", "count", _counts("shootdown")),
    ("faults", "count", _counts("fault")),
    ("allocations", "count", _counts("memory")),
    ("allocated", "bytes", lambda s: s.bytes),
)
# Numbers of the format's fields.
_SAMPLE_TYPE, _SAMPLE, _MAPPING, _LOCATION, _FUNCTION, _STRING, _DURATION, _PERIOD_TYPE, _PERIOD, _DEFAULT = (
    1, 2, 3, 4, 5, 6, 10, 11, 12, 14)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes([*out, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _bytes(field, b"".join(map(_varint, values)))


class _Writer:
    """Numbers strings from 0 and everything else from 1, as the format asks."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._strings: dict[str, int] = {"": 0}
        self._mappings: dict[str, int] = {}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[Frame, int] = {}
        self._parts: list[bytes] = []

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _mapping(self, module: str) -> int:
        if module not in self._mappings:
            self._mappings[module] = number = len(self._mappings) + 1
            # The flags say that functions, files, lines and inlined frames need not be looked up again.
            known = b"".join(_number(flag, 1) for flag in (7, 8, 9, 10))
            build_id = self._string(self._profile.modules.get(module, ""))
            self._parts.append(_bytes(_MAPPING, _number(1, number) + _number(5, self._string(module))
                                      + _number(6, build_id) + known))
        return self._mappings[module]

    def _function(self, frame: Frame) -> int:
        # A function without a name is its address: pprof would otherwise join all of them.
        key = (frame.function or f"{frame.module}+{frame.offset:#x}", frame.file)
        if key not in self._functions:
            self._functions[key] = number = len(self._functions) + 1
            name = self._string(key[0])
            self._parts.append(_bytes(_FUNCTION, _number(1, number) + _number(2, name) + _number(3, name)
                                      + _number(4, self._string(frame.file))))
        return self._functions[key]

    def _location(self, frame: Frame) -> int:
        if frame not in self._locations:
            self._locations[frame] = number = len(self._locations) + 1
            line = _number(1, self._function(frame)) + _number(2, frame.line)
            self._parts.append(_bytes(_LOCATION, _number(1, number) + _number(2, self._mapping(frame.module))
                                      + _number(3, frame.offset) + _bytes(4, line)))
        return self._locations[frame]

    def _label(self, name: str, text: str) -> bytes:
        return _bytes(3, _number(1, self._string(name)) + _number(2, self._string(text))) if text else b""

    def _type(self, field: int, name: str, unit: str) -> bytes:
        return _bytes(field, _number(1, self._string(name)) + _number(2, self._string(unit)))

    def write(self) -> bytes:
        out = b"".join(self._type(_SAMPLE_TYPE, name, unit) for name, unit, _ in VALUES)
        for module in sorted(self._profile.modules, key=is_system):
            self._mapping(module)  # pprof names the profile by the first one
        for s in self._profile.stacks:
            values = _packed(2, (round(value(s)) for _, _, value in VALUES))
            labels = self._label("cause", share(s)) + self._label("call", s.call)
            self._parts.append(_bytes(_SAMPLE, _packed(1, map(self._location, s.frames)) + values + labels))
        ends = (_number(_DURATION, round(self._profile.wall_s * 1e9)) + self._type(_PERIOD_TYPE, *VALUES[0][:2])
                + _number(_PERIOD, round(self._profile.period_s * 1e9)) + _number(_DEFAULT, self._string(VALUES[0][0])))
        strings = b"".join(_bytes(_STRING, text.encode()) for text in self._strings)
        return out + b"".join(self._parts) + ends + strings


def encode(profile: Profile) -> bytes:
    # Without a time of its own, so that the same profile is the same file.
    return gzip.compress(_Writer(profile).write(), mtime=0)
