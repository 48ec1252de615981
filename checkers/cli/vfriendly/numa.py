# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which placement suits a program, by how unevenly the nodes are accessed; and where a
process's pages lie.

The classifier is that of Voron (PhD thesis, 2018, section 4.1): run with first touch, take the
imbalance of accesses between nodes, and let it decide the placement. Table 41 there has a second
metric, the load of the interconnect; both are shown, but the classes of all 29 programs of that table
follow from the imbalance alone.
"""

import itertools
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path

from vfriendly.errors import Refused
from vfriendly.measuring.machine import is_virtual

# Limits of an imbalance in percent, for the machine of the thesis with eight nodes: low up to 85,
# moderate up to 130. The scaling to other numbers of nodes is not the thesis', which says that a class
# holds for the measured hardware only: the largest imbalance of N nodes is 100 * sqrt(N - 1), when
# one node has all accesses, and the limits are the same shares of that maximum.
LOW, MODERATE, NODES_OF_THESIS = 85, 130, 8
FIRST_TOUCH, INTERLEAVE, BALANCE = "first touch", "interleave", "vfriendly numa balance"


@dataclass(frozen=True)
class Class:
    name: str
    placement: str
    is_balanced: bool  # with Carrefour, which moves pages while the program runs
    # How much slower the policy is than the best one of the thesis, in per cent on its machine, on
    # average and at worst.
    slower: int
    slowest: int
    loads: tuple[int, int]  # the least and greatest load of the interconnect in table 41, in per cent
    # programs is the number of programs that the thesis assigns to the class. The placement of the
    # best policy (table 51) is the class's for right_on_linux and right_on_xen of them.
    programs: int
    right_on_linux: int
    right_on_xen: int

    @property
    def policy(self) -> str:
        return f"{self.placement}, then {BALANCE}" if self.is_balanced else self.placement


CLASSES = (
    Class("low", FIRST_TOUCH, False, 1, 10, (6, 18), 11, 8, 4),
    Class("moderate", FIRST_TOUCH, True, 2, 10, (16, 51), 5, 4, 1),
    Class("high", INTERLEAVE, True, 2, 7, (4, 61), 13, 12, 13),
)


def imbalance(counts: list[float]) -> float:
    """Returns the standard deviation in per cent of the mean."""
    mean = math.fsum(counts) / len(counts)
    return 100 * math.sqrt(math.fsum((c - mean) ** 2 for c in counts) / len(counts)) / mean


def thresholds(nodes: int) -> tuple[float, float]:
    """Returns the upper limits of a low and of a moderate imbalance."""
    scale = math.sqrt((nodes - 1) / (NODES_OF_THESIS - 1))
    return LOW * scale, MODERATE * scale


def class_of(percent: float, nodes: int) -> Class:
    low, moderate = thresholds(nodes)
    return CLASSES[0 if percent <= low else 1 if percent <= moderate else 2]


@dataclass(frozen=True)
class Run:
    name: str
    counts: list[float]
    load: float | None = None  # of the interconnect, in per cent of its bandwidth


def read_runs(path: str) -> list[Run]:
    """Reads lines of a name, a count for each node, and perhaps load=PERCENT; '#' begins a comment."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{path}: cannot be read: {error}") from None
    runs = []
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if words:
            runs.append(_run(words, f"{path}:{number}"))
    if not runs:
        raise Refused(f"{path}: has no counts: give lines of a name and a count for each node")
    return runs


def _run(words: list[str], where: str) -> Run:
    load = re.fullmatch(r"load=(\d+(?:\.\d+)?)%?", words[-1])
    if load:
        words = words[:-1]
        if float(load.group(1)) > 100:
            raise Refused(f"{where}: a load of the interconnect above 100 % is none")
    try:
        counts = [float(w) for w in words[1:]]
    except ValueError:
        raise Refused(f"{where}: a name and a count for each node is needed") from None
    if not all(math.isfinite(c) and c >= 0 for c in counts):
        raise Refused(f"{where}: a count is not a number of at least 0")
    if len(counts) < 2:
        raise Refused(f"{where}: one node has nothing to be compared with: give the counts of all nodes")
    if not any(counts):
        raise Refused(f"{where}: all counts are 0: nothing was accessed")
    return Run(words[0], counts, float(load.group(1)) if load else None)


def judged(run: Run, what: str) -> str:
    """Returns a line with the metrics, the class, the policy, and how good this policy was in the thesis."""
    percent, nodes = imbalance(run.counts), len(run.counts)
    found = class_of(percent, nodes)
    limits = "limits {:.1f} and {:.1f} %".format(*thresholds(nodes))
    if nodes != NODES_OF_THESIS:
        limits += f", scaled from {NODES_OF_THESIS} nodes"
    load = "interconnect load unknown"
    if run.load is not None:
        load = "interconnect load {:.0f} % ({} to {} in the thesis' class)".format(run.load, *found.loads)
    rates = []
    for system, right in (("Linux", found.right_on_linux), ("Xen", found.right_on_xen)):
        weak = ", weak" if 2 * right < found.programs else ""
        rates.append(f"{right} of {found.programs} on {system}{weak}")
    return (f"{run.name}: imbalance of {what} {percent:.1f} % ({limits}), {load}, {found.name}: {found.policy} "
            f"(in the thesis {found.slower} % slower than the best policy, {found.slowest} % at worst; the best one's "
            f"placement for {' and '.join(rates)})")


def ranges(cpus: list[int]) -> str:
    """Returns ascending numbers in the form of Linux: 0-3,8."""
    words: list[str] = []
    for _, run in itertools.groupby(enumerate(cpus), lambda item: item[1] - item[0]):
        numbers = [cpu for _, cpu in run]
        words.append(f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0]))
    return ",".join(words)


SYSFS = "/sys/devices/system/node"


def machine() -> list[str]:
    """Describes this machine's nodes as the kernel reports them."""
    try:
        names = sorted(n for n in os.listdir(SYSFS) if re.fullmatch(r"node\d+", n))
    except OSError:
        raise Refused(f"{SYSFS} is not there: this kernel knows no NUMA nodes") from None
    lines = []
    for name in names:
        with open(os.path.join(SYSFS, name, "cpulist"), encoding="ascii") as file:
            cpus = file.read().strip() or "none"
        with open(os.path.join(SYSFS, name, "meminfo"), encoding="ascii") as file:
            total = re.search(r"MemTotal:\s+(\d+) kB", file.read())
        megabytes = int(total.group(1)) // 1024 if total else 0
        lines.append(f"{name}: CPUs {cpus}, {megabytes} MB")
    if len(names) == 1 and _is_opaque():
        lines.append("this virtual machine has no NUMA table: the host may have several nodes; ask its "
                     "operator for `-numa` (QEMU) or `<numa>` and `<numatune>` (libvirt)")
    return lines


def _is_opaque() -> bool:
    return is_virtual() and not os.path.exists("/sys/firmware/acpi/tables/SRAT")


def process(pid: str) -> int:
    if not re.fullmatch(r"[1-9]\d*", pid):
        raise Refused(f"'{pid}' is no process number")
    if not os.path.isdir(f"/proc/{pid}"):
        raise Refused(f"/proc/{pid}: there is no such process")
    return int(pid)


def numbers(text: str) -> list[int]:
    """Returns the numbers of a list such as 0-3,8."""
    spans = [span.partition("-") for span in text.strip().split(",") if span]
    return [n for first, _, last in spans for n in range(int(first), int(last or first) + 1)]


BALANCING = "/proc/sys/kernel/numa_balancing"


def may_hold() -> None:
    """Refuses if hold() would fail."""
    if not os.access(BALANCING, os.W_OK):
        raise Refused(f"--hold: {BALANCING} cannot be written: run as root")


def hold() -> None:
    """Ends the kernel's automatic NUMA balancing on the whole machine, so that pages stay where they are."""
    try:
        Path(BALANCING).write_text("0\n", encoding="ascii")
    except OSError as error:
        raise Refused(f"--hold: {BALANCING}: {error.strerror}") from None


def nodes_for(pid: int) -> tuple[list[int], dict[int, int]]:
    """Returns the nodes with memory that a process may use, and the node of each CPU.

    Refuses where the kernel gives no samples of who accesses what.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        with_memory = Path(SYSFS, "has_memory").read_text(encoding="ascii")
    except OSError as error:
        raise Refused(f"{error.filename}: {error.strerror}") from None
    allowed = re.search(r"^Mems_allowed_list:\s*(\S+)", status, re.M)
    nodes = [n for n in numbers(with_memory) if not allowed or n in numbers(allowed.group(1))]
    if len(nodes) < 2:
        raise Refused(f"process {pid} may use the memory of one node, so there is nothing to balance")
    try:
        mode = Path(BALANCING).read_text(encoding="ascii").strip()
    except OSError:
        mode = "missing"
    if mode in ("0", "missing"):
        raise Refused(f"{BALANCING} is {mode}, so the kernel samples no accesses: sysctl kernel.numa_balancing=1")
    return nodes, nodes_of_cpus()


def nodes_of_cpus() -> dict[int, int]:
    """Returns the node of each CPU; {} if the kernel knows no nodes."""
    try:
        online = numbers(Path(SYSFS, "online").read_text(encoding="ascii"))
        return {cpu: node for node in online
                for cpu in numbers(Path(SYSFS, f"node{node}", "cpulist").read_text(encoding="ascii"))}
    except OSError:
        return {}


def pages_of(pid: str) -> dict[int, int]:
    """Returns the memory of a process by node, in kB."""
    path = f"/proc/{pid}/numa_maps"
    if not re.fullmatch(r"[1-9]\d*", pid):
        raise Refused(f"'{pid}' is no process number")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except ProcessLookupError:
        raise Refused(f"process {pid} is gone") from None
    except FileNotFoundError:
        why = "the kernel knows no NUMA" if os.path.isdir(f"/proc/{pid}") else "there is no such process"
        raise Refused(f"{path}: {why}") from None
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}: run as the process's user or as root") from None
    found: dict[int, int] = {}
    for line in text.splitlines():
        size = re.search(r"kernelpagesize_kB=(\d+)", line)
        for node, pages in re.findall(r"\bN(\d+)=(\d+)", line):
            found[int(node)] = found.get(int(node), 0) + int(pages) * (int(size.group(1)) if size else 4)
    return found
