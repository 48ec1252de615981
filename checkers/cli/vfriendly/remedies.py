# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can be changed about a program without rebuilding it: preloaded libraries, settings and CPUs."""

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vfriendly import cpu_limit, pools, programs, tools
from vfriendly.errors import Refused

GOMP, LIBOMP = ("libgomp.",), ("libomp.", "libiomp5.")


@dataclass(frozen=True)
class Remedy:
    name: str
    words: str  # what it does, for people
    preloads: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    threads: int = 0  # as many by the program's own option; 0: as it is

    @property
    def parts(self) -> int:
        return self.name.count("+") + 1

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Returns the environment of the program. Libraries that are preloaded already stay, after these."""
        done = {**given, **self.settings}
        if self.preloads:
            others = given.get("LD_PRELOAD", "").replace(" ", ":").split(":")
            done["LD_PRELOAD"] = ":".join([*self.preloads, *(p for p in others if p and p not in self.preloads)])
        return done

    def command(self, words: Sequence[str]) -> list[str]:
        """Returns the words of the command with this remedy."""
        return [*self.prefix, *(pools.command(pools.POOLS, words, self.threads) if self.threads else words)]

    def line(self, command: Sequence[str]) -> str:
        """Returns the shell's line that runs the command with this remedy."""
        words = [f"{k}={shlex.quote(v)}" for k, v in self.settings.items()]
        if self.preloads:
            words.append(f"LD_PRELOAD={shlex.quote(':'.join(self.preloads))}")
        return " ".join([*words, shlex.join(self.command(command))])


NONE = Remedy("as it is", "no change")


def _half() -> str:
    cpus = sorted(os.sched_getaffinity(0))
    return ",".join(map(str, cpus[:len(cpus) // 2]))


def _gleaner() -> str | None:
    beside = Path(os.environ.get("VFRIENDLY_LIB", "/nowhere")).parent / "bin" / "gleaner"
    return str(beside) if beside.is_file() else shutil.which("gleaner")


def _known() -> dict[str, Remedy]:
    """Returns the remedies of one part. A library's path is found when the remedy is used."""
    known = [
        Remedy("pthread", "locks, conditions and barriers that adapt their spinning", ("libvfpthread.so",)),
        Remedy("malloc", "an allocator that rarely returns memory to the kernel", ("libvfmalloc.so",)),
        Remedy("openmp", "waits of OpenMP that adapt their spinning", ("libvfomp.so",)),
        Remedy("omp-passive", "waits of OpenMP sleep at once", settings={"OMP_WAIT_POLICY": "passive"}),
        # 1000 is what libgomp itself uses once it has more threads than CPUs; libomp's unit is a
        # millisecond, and its default is 200.
        Remedy("omp-short", "waits of OpenMP spin shortly, then sleep",
               settings={"GOMP_SPINCOUNT": "1000", "KMP_BLOCKTIME": "1"}),
        Remedy("spin", "threads that spin give way while CPUs are short", ("libvfspin.so",)),
        Remedy("tick", "short time slices while threads spin and CPUs are short",
               prefix=(_gleaner() or "gleaner", "tick", "--")),
        Remedy("cpus", "tells pools that ask for the number of CPUs of the CPU limit", ("libvfcpus.so",)),
        Remedy("threads", "as many threads as there are CPUs, by the settings of the program and its libraries"),
        Remedy("numa", "interleaves large allocations over the nodes and binds threads to CPUs", ("libvfnuma.so",),
               {"VF_NUMA": "interleave", "VF_NUMA_PIN": "core"}),
        Remedy("pin", "binds each thread to one CPU", ("libvfnuma.so",), {"VF_NUMA_PIN": "core"}),
        Remedy("half-cpus", "uses half of the CPUs", prefix=("taskset", "-c", _half())),
        Remedy("gleaner", "keeps threads on few CPUs, and those awake", prefix=(_gleaner() or "gleaner", "run", "--")),
    ]
    return {r.name: r for r in known}


NAMES = ", ".join(_known())


def _threads(program: programs.Program) -> Remedy:
    """Returns the remedy that sets the number of threads of the pools that are known of a program."""
    n = cpu_limit.threads_for(cpu_limit.cpus())
    known = pools.of_command(program.name, program.libraries(), program.elf.is_go)
    words = "; ".join(p.text(n) for p in known) or f"{n} threads where a pool asks for the number of CPUs"
    preloads: tuple[str, ...] = ()
    if not programs.why_not_preloaded(program) and n < (os.cpu_count() or 1):
        try:
            preloads = (tools.library("libvfcpus.so", None, "VFRIENDLY_LIB=FOLDER, not --library"),)
        except Refused:  # This build has none.
            pass
    options = n if any(p.option for p in known) else 0
    if not (known or preloads):
        raise Refused(f"remedy threads: no setting of {program.path} for the number of threads is known")
    return Remedy("threads", words, preloads, pools.variables(known, n), threads=options)


def _one(name: str, program: programs.Program) -> Remedy:
    known = _known()
    if "=" in name:
        variable, _, value = name.partition("=")
        return Remedy(name, f"sets {variable}", settings={variable: value})
    if name not in known:
        raise Refused(f"no remedy '{name}': there are {NAMES}, VARIABLE=VALUE, and several joined by +")
    if name == "threads":
        return _threads(program)
    remedy = known[name]
    for tool in remedy.prefix[:1]:
        if not shutil.which(tool):
            raise Refused(f"remedy {name} needs the program {tool}, which was not found")
    if name == "half-cpus" and not remedy.prefix[2]:
        raise Refused("remedy half-cpus needs at least two CPUs")
    paths = tuple(tools.library(p, None, "VFRIENDLY_LIB=FOLDER, not --library") for p in remedy.preloads)
    return Remedy(name, remedy.words, paths, remedy.settings, remedy.prefix)


def parse(text: str, program: programs.Program) -> Remedy:
    """Returns the remedy of a name such as pthread+malloc. Raises Refused."""
    parts = [_one(name.strip(), program) for name in text.split("+")]
    settings: dict[str, str] = {}
    for part in parts:
        settings |= part.settings
    preloads = dict.fromkeys(library for p in parts for library in p.preloads)
    return Remedy(text, "; ".join(p.words for p in parts), tuple(preloads), settings,
                  tuple(w for p in parts for w in p.prefix), max(p.threads for p in parts))


# Bytes of thread-local variables that libvfmalloc.so must have at fixed places, rounded up: an allocator cannot
# allocate them. glibc reserves 512 for all libraries that come after an auditor.
_MALLOC_TLS = 4096


def _why_not_audited(remedy: Remedy, given: Mapping[str, str]) -> str:
    """Returns why the remedy stops each program under LD_AUDIT, or ""."""
    if not given.get("LD_AUDIT") or not any(os.path.basename(p) == "libvfmalloc.so" for p in remedy.preloads):
        return ""
    reserved = re.search(r"(?:^|:)glibc\.rtld\.optional_static_tls=(\d+)", given.get("GLIBC_TUNABLES", ""))
    if reserved and int(reserved[1]) >= _MALLOC_TLS:
        return ""
    return ("LD_AUDIT is set, under which the loader has no room for libvfmalloc.so: unset it, or set "
            f"GLIBC_TUNABLES=glibc.rtld.optional_static_tls={_MALLOC_TLS}")


def _why_not_beside(given: Mapping[str, str]) -> str:
    """Returns which library that is preloaded already excludes ours, or ""."""
    for other in given.get("LD_PRELOAD", "").replace(" ", ":").split(":"):
        if os.path.basename(other).startswith("libtsan."):
            return f"LD_PRELOAD has {other}, ThreadSanitizer, which must see each lock: preload nothing else"
    return ""


def usable(text: str, program: programs.Program) -> Remedy:
    """Returns the remedy of a name. Raises Refused if it has no effect in the program."""
    remedy = parse(text, program)
    if remedy.preloads:
        why = programs.why_not_preloaded(program) or _why_not_beside(os.environ) or _why_not_audited(remedy, os.environ)
        if why:
            raise Refused(why)
    return remedy


def suitable(program: programs.Program) -> tuple[list[Remedy], list[str]]:
    """Returns the remedies that may help the program, and one line for each kind that was left out."""
    names, left = [], []
    why = programs.why_not_preloaded(program) or _why_not_beside(os.environ)
    nodes = len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))
    if why:
        left.append(why)
        names += ["tick"] if _gleaner() else []
    else:
        names += ["pthread", "malloc", "pthread+malloc", "spin"]
        libraries = program.libraries()
        if any(name.startswith(GOMP + LIBOMP) for name in libraries):
            names += ["openmp", "omp-passive", "omp-short", "omp-passive+malloc"]
        names.append("numa" if nodes > 1 else "pin")
    names.append("threads")
    if not why and cpu_limit.threads_for(cpu_limit.cpus()) < (os.cpu_count() or 1):
        names.append("cpus")
    if len(os.sched_getaffinity(0)) > 1:
        names.append("half-cpus")
    if _gleaner():
        names.append("gleaner")
    found = []
    for name in names:
        try:
            remedy = parse(name, program)
            why = _why_not_audited(remedy, os.environ)
            if not why:
                found.append(remedy)
            elif why not in left:
                left.append(why)
        except Refused as error:  # A library that this build does not have is not tried.
            if name not in ("openmp", "threads", "spin"):
                left.append(str(error))
    return found, left
