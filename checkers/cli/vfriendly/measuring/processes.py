# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What processes have mapped, and when: the base of every address in a sample."""

import bisect
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vfriendly.measuring import perf

_MMAP2 = struct.Struct("<IIQQQIIQQII")
_PAIR = struct.Struct("<II")
_FORK = struct.Struct("<IIIIQ")
# Pages of the ring that has the mappings: 256 KiB hold some 2000 of them, and it is read 20 times a second.
_PAGES = 64


@dataclass(frozen=True)
class Mapping:
    begin: int
    end: int
    offset: int
    path: str


@dataclass
class Image:
    """What runs in a process between two calls of exec."""

    since: int
    name: str = ""
    times: list[int] = field(default_factory=list)
    mappings: list[Mapping] = field(default_factory=list)

    def at(self, ns: int) -> tuple[Mapping, ...]:
        """Returns the mappings of that time, later ones last."""
        return tuple(self.mappings[:bisect.bisect_right(self.times, ns)])


class Processes:
    def __init__(self) -> None:
        self.images: dict[int, list[Image]] = {}
        self._texts: dict[int, str] = {}  # of the last look

    def image(self, process: int, ns: int) -> Image | None:
        images = self.images.get(process, [])
        return next((i for i in reversed(images) if i.since <= ns), images[0] if images else None)

    def snapshot(self, process: int) -> None:
        """Reads the mappings of a process that runs already."""
        self.images.pop(process, None)
        try:
            self.add_maps(process, Path(f"/proc/{process}/maps").read_text(errors="replace"), 0)
            self.images[process][0].name = Path(f"/proc/{process}/comm").read_text().strip()
        except OSError:
            return

    def look(self, process: int, ns: int) -> None:
        """Takes what it has mapped since the time given, where no event of the kernel tells of it."""
        try:
            text = Path(f"/proc/{process}/maps").read_text(errors="replace")
        except OSError:
            return
        if text and text != self._texts.get(process):
            self._texts[process] = text
            self.add_maps(process, text, ns)

    def was_looked_at(self, process: int) -> bool:
        return process in self._texts

    def add_maps(self, process: int, text: str, ns: int) -> None:
        """Takes the text of /proc/PID/maps, whose new mappings are there since the time given.

        Without events of the kernel, a call of exec is not seen: what it maps is taken for more of the same program.
        """
        image = self.images.setdefault(process, [Image(0)])[-1]
        known = set(image.mappings)
        for line in text.splitlines():
            words = line.split(maxsplit=5)
            if len(words) == 6 and "x" in words[1]:
                begin, end = (int(w, 16) for w in words[0].split("-"))
                mapping = Mapping(begin, end, int(words[2], 16), words[5])
                if mapping not in known:
                    self._add(image, ns, mapping)

    @staticmethod
    def _add(image: Image, ns: int, mapping: Mapping) -> None:
        image.times.append(ns)
        image.mappings.append(mapping)

    def record_all(self, records: Iterable[tuple[int, int, bytes]], time_at: int = 8) -> None:
        """Takes records of events with mmap2, comm and task, whose time is so many bytes before the end.

        Each CPU has a ring, and a process may run on one and then on another: they are sorted by time.
        """
        timed = ((struct.unpack_from("<Q", body, len(body) - time_at)[0], kind, misc, body)
                 for kind, misc, body in records if kind in (perf.R_MMAP2, perf.R_COMM, perf.R_FORK))
        for ns, kind, misc, body in sorted(timed, key=lambda r: r[0]):
            self._record(ns, kind, misc, body)

    def _record(self, ns: int, kind: int, misc: int, body: bytes) -> None:
        # Names end with a NUL, so what follows them need not be known.
        if kind == perf.R_MMAP2:
            process, _, begin, length, offset, *_ = _MMAP2.unpack_from(body)
            path = body[_MMAP2.size:].split(b"\0")[0].decode(errors="replace")
            images = self.images.setdefault(process, [Image(0)])
            self._add(images[-1], ns, Mapping(begin, begin + length, offset, path))
        elif kind == perf.R_COMM:
            process, thread = _PAIR.unpack_from(body)
            name = body[_PAIR.size:].split(b"\0")[0].decode(errors="replace")
            if misc & perf.EXECUTES:
                self.images.setdefault(process, []).append(Image(ns, name))
            elif process == thread and process in self.images:
                self.images[process][-1].name = name
        elif kind == perf.R_FORK:
            process, parent, *_ = _FORK.unpack_from(body)
            if process != parent and parent in self.images:
                from_ = self.images[parent][-1]
                self.images[process] = [Image(0, from_.name, list(from_.times), list(from_.mappings))]


class Watch:
    """Follows the mappings of all processes (process -1), or of one and its children."""

    def __init__(self, processes: Processes, process: int) -> None:
        self._processes, self.lost = processes, 0
        flags = perf.MMAP | perf.MMAP2 | perf.COMM | perf.COMM_EXEC | perf.TASK | perf.SAMPLE_ID_ALL | perf.USE_CLOCKID
        if process >= 0:
            flags |= perf.INHERIT | perf.EXCLUDE_KERNEL | perf.EXCLUDE_HV
        attributes = perf.Attributes(perf.SOFTWARE, perf.DUMMY, sample=perf.S_TIME, flags=flags)
        self._files = [perf.open_event(attributes, process, cpu) for cpu in perf.online_cpus()]
        self._rings = [perf.Ring(file, _PAGES) for file in self._files]

    def read(self) -> None:
        records = [record for ring in self._rings for record in ring.read()]
        self.lost += sum(struct.unpack_from("<QQ", body)[1] for kind, _, body in records if kind == perf.R_LOST)
        self._processes.record_all(records)
