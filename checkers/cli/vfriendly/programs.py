# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executables: which file a command runs, and whether preloaded libraries take effect in it."""

import os
import shlex
import shutil
import stat
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from vfriendly import regular
from vfriendly.errors import Refused

# ELF: what is read of the header, of a program header and of an entry of the dynamic section.
_HEADER = struct.Struct("<16sHHIQQQIHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_PT_LOAD, _PT_DYNAMIC, _PT_INTERP, _PT_NOTE = 1, 2, 3, 4
_EXECUTABLE = 1
_NT_GNU_BUILD_ID, _NT_GO_BUILD_ID = 3, 4
_MACHINES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}
_DYNAMIC = struct.Struct("<qQ")
_DT_NULL, _DT_STRTAB, _DT_STRSZ = 0, 5, 10
# Interpreters that a script names by another program, such as /usr/bin/env.
_DEEPEST = 4
# Programs whose arguments name programs that they start.
_STARTERS = {"bash", "chrt", "dash", "env", "ionice", "nice", "nohup", "numactl", "setsid", "sh", "stdbuf", "strace",
             "taskset", "time", "timeout", "xargs"}
# What programs and libraries define or need that were compiled with -fsanitize=thread.
_TSAN = b"\0__tsan_init\0"
_SHARED_ASAN = (b"\0libasan.so.", b"\0libclang_rt.asan")  # gcc's and clang's


@dataclass(frozen=True)
class Elf:
    machine: str
    loader: str  # "" of a static program
    build_id: str  # "" if it has none
    code: tuple[tuple[int, int], ...]  # file offset and address of each segment of code
    is_go: bool = False  # made by Go's linker
    has_tsan: bool = False  # ThreadSanitizer
    has_shared_asan: bool = False  # a library of AddressSanitizer


@dataclass
class Program:
    """The executable of a command."""

    path: str
    elf: Elf
    scripts: list[str] = field(default_factory=list)  # that led to the executable
    starts: list["Program"] = field(default_factory=list)  # that its arguments name, if it starts other programs
    name: str = ""  # by which it was called

    def libraries(self) -> list[str]:
        """Returns the names of the shared libraries that the loader maps at start."""
        try:
            done = subprocess.run([self.elf.loader, "--list", self.path], capture_output=True, text=True,
                                  errors="replace", check=False)
        except OSError:  # It is static, or of another system.
            return []
        return [os.path.basename(line.split()[0]) for line in done.stdout.splitlines() if line.split()]


def read_elf(path: str) -> Elf | None:
    """Returns None if the file is not an ELF file of 64 bits, little-endian. Raises OSError.

    The file may be what another user's process has mapped: a hostile one names anything.
    """
    with regular.open_regular(path) as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or header[:6] != b"\x7fELF\2\1":
            return None
        _, _, machine, _, _, segments, _, _, _, size, count = _HEADER.unpack(header)
        if segments >= 1 << 63:
            return None
        file.seek(segments)
        if size < _SEGMENT.size:
            return None
        table = file.read(min(size * count, 1 << 20))
        loader = build_id = ""
        is_go = False
        code, loads, dynamic = [], [], b""
        for at in range(0, len(table) - _SEGMENT.size + 1, size):
            kind, flags, offset, address, _, length, _, _ = _SEGMENT.unpack_from(table, at)
            if kind == _PT_LOAD:
                loads.append((offset, address, length))
                if flags & _EXECUTABLE:
                    code.append((offset, address))
            if kind not in (_PT_DYNAMIC, _PT_INTERP, _PT_NOTE):
                continue
            if offset >= 1 << 63:
                return None
            file.seek(offset)
            data = file.read(min(length, 1 << 16))
            if kind == _PT_DYNAMIC:
                dynamic = data
            elif kind == _PT_INTERP:
                loader = data.rstrip(b"\0").decode(errors="replace")
            else:
                build_id = build_id or _note(data, b"GNU\0", _NT_GNU_BUILD_ID).hex()
                is_go = is_go or bool(_note(data, b"Go\0\0", _NT_GO_BUILD_ID))
        names = _dynamic_strings(file, dynamic, loads)
    return Elf(_MACHINES.get(machine, f"machine {machine}"), loader, build_id, tuple(code), is_go, _TSAN in names,
               any(each in names for each in _SHARED_ASAN))


def _dynamic_strings(file: BinaryIO, dynamic: bytes, loads: Sequence[tuple[int, int, int]]) -> bytes:
    """Returns the names that the file shares with others, each between two zeros."""
    values = {}
    for at in range(0, len(dynamic) - _DYNAMIC.size + 1, _DYNAMIC.size):
        tag, value = _DYNAMIC.unpack_from(dynamic, at)
        if tag == _DT_NULL:
            break
        values[tag] = value
    strings = values.get(_DT_STRTAB, 0)
    for offset, address, length in loads:
        if address <= strings < address + length:
            file.seek(offset + strings - address)
            return file.read(values.get(_DT_STRSZ, 0))
    return b""


def _note(notes: bytes, owner: bytes, wanted: int) -> bytes:
    """Returns the content of the first note of an owner and kind."""
    at = 0
    while at + 12 <= len(notes):
        name, length, kind = struct.unpack_from("<III", notes, at)
        begin = at + 12 + (name + 3 & ~3)
        if kind == wanted and notes[at + 12:at + 12 + len(owner)] == owner:
            return notes[begin:begin + length]
        at = begin + (length + 3 & ~3)
    return b""


def find(command: Sequence[str]) -> Program:
    """Returns the executable that a command runs. Raises Refused if there is none."""
    if not command:
        raise Refused("no command: put it after --, as in: -- ./prog ARGUMENTS")
    path = shutil.which(command[0])
    if not path:
        raise Refused(f"{command[0]}: " + ("not executable" if os.path.isfile(command[0]) else "no such program"))
    scripts: list[str] = []
    for _ in range(_DEEPEST):
        try:
            elf = read_elf(path)
            if elf:
                return Program(os.path.realpath(path), elf, scripts, _started(path, command), os.path.basename(path))
            with open(path, "rb") as file:
                first = file.readline(256)
        except OSError as error:
            raise Refused(f"{path}: {error.strerror}") from None
        words = shlex.split(first[2:].decode(errors="replace")) if first.startswith(b"#!") else ["/bin/sh"]
        if len(words) > 1 and os.path.basename(words[0]) == "env":
            words = [w for w in words[1:] if not w.startswith("-") and "=" not in w]
        scripts.append(path)
        path = shutil.which(words[0]) if words else None
        if not path:
            raise Refused(f"{scripts[-1]}: its interpreter was not found, or it is not a program for this machine")
    raise Refused(f"{command[0]}: is a script of a script of a script")


def _is_glibc(elf: Elf) -> bool:
    return os.path.basename(elf.loader).startswith("ld-linux")


def _other_libc(program: Program) -> str:
    return f"{program.path} uses another libc ({program.elf.loader}): the preloaded libraries are for glibc"


def _sanitized(program: Program) -> str:
    """Returns why a sanitizer of the program excludes other libraries, or ""."""
    if program.elf.has_tsan:
        return (f"{program.path} is built with ThreadSanitizer, which must see each lock and each allocation: "
                "preload nothing, or build it without")
    if program.elf.has_shared_asan:
        return (f"{program.path} is built with AddressSanitizer as a library, which must be the first of all: "
                "build it without, or with -static-libasan")
    return ""


def _started(path: str, command: Sequence[str]) -> list[Program]:
    """Returns the executables that arguments of env, sh -c and the like name."""
    if os.path.basename(path) not in _STARTERS:
        return []
    found: list[Program] = []
    for argument in command[1:]:
        # A line for the shell is read roughly: a word that is no program is not found.
        for word in argument.replace(";", " ").replace("&", " ").replace("|", " ").split():
            place = shutil.which(word)
            try:
                elf = read_elf(place) if place else None
            except OSError:
                continue
            if place and elf:
                found.append(Program(os.path.realpath(place), elf))
    return found


def why_not_preloaded(program: Program) -> str:
    """Returns why libraries cannot be preloaded into the program, or "" if they can."""
    # In a program that it starts, libraries may well have no effect, but must do no harm.
    for child in program.starts:
        if child.elf.loader and not _is_glibc(child.elf):
            return _other_libc(child)
        if why := _sanitized(child):
            return why
    if why := _sanitized(program):
        return why
    name = program.path
    if program.elf.machine != os.uname().machine:
        return f"{name} is for {program.elf.machine}, not for this machine"
    if not program.elf.loader:
        return f"{name} is linked statically and loads no libraries: link it dynamically, or rebuild it with the pass"
    if not _is_glibc(program.elf):
        return _other_libc(program)
    try:
        mode = os.stat(name).st_mode
        capabilities = "security.capability" in os.listxattr(name)
    except OSError:
        return ""
    if mode & (stat.S_ISUID | stat.S_ISGID) or capabilities:
        what = "has file capabilities" if capabilities else "is setuid or setgid"
        return f"{name} {what}: the loader ignores LD_PRELOAD in it, so run a copy without"
    return ""
