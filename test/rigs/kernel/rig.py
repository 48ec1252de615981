# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots L1 and L2 with kernels of ours, and hears what the kernels complain about."""

import copy
import glob
import itertools
import os
import re
import resource
import sys
import time
from dataclasses import dataclass

from guest import Broken, emulator, machine, nested, packages, until_whole

RUNTIME = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3, "runtime"))
# With fewer CPUs than L2 has, its vCPUs preempt each other; no more than this machine has.
L1_CPUS = 2
# Of what runs in L1 and L2; the kernels' is an option.
COMPILER = "gcc"
# Warnings are not to be seen with quiet alone. L2 says them at the end: each letter that
# it prints on its console is an exit, which would be counted.
HOST_WORDS = "loglevel=5"
# Beyond the longest run, which prints nothing meanwhile.
SILENCE_S = 120
# A second on a virtual clock takes two or three of ours, and more if there is other work.
SLOWER = 10
COMPLAINTS = ("WARNING:|BUG:|BUG at|rcu: INFO|soft lockup|hard LOCKUP|INFO: task|Oops|"
              "unchecked MSR access")
# Of KVM's own, besides those that a series has: how often a vCPU was preempted and the
# guest was told, or not, as it was within an instruction that is emulated, or an exit.
COUNTERS = ("preemption_reported", "preemption_other")
# The last command of what L2 runs; that nothing is found is no failure.
SAY = f"dmesg | grep -E '{COMPLAINTS}' || true\n"


def complaints(text):
    """Each line once: some are on the console, and said at the end."""
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if re.search(COMPLAINTS, line)))


def runtime():
    """Words for the compiler: libvfrt's sources, of which L2's programs that use it are made."""
    folders = ("", "include", "platform/x86-64")
    sources = ("blocking-sync", "common", "platform/linux", "spin-wait")
    return [*(f"-I{os.path.join(RUNTIME, f)}" for f in folders),
            *sorted(s for f in sources for s in glob.glob(os.path.join(RUNTIME, f, "*.c")))]


class Others:
    """What others than this process' children take of this machine's CPUs meanwhile."""

    def __init__(self):
        self.began = self._now()

    def _now(self):
        with open("/proc/stat") as file:
            user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        return time.monotonic(), used - children.ru_utime - children.ru_stime

    def share(self):
        """Children count once they are waited for."""
        now = self._now()
        took = (now[0] - self.began[0]) * os.cpu_count()
        return max(0.0, (now[1] - self.began[1]) / took) if took else 0.0


@dataclass(frozen=True)
class Workload:
    """What L2 does, and with how many vCPUs."""

    vcpus: tuple
    sentence: str

    def __str__(self):
        return self.sentence


@dataclass
class Ran:
    """What L2 printed: the results, see nested.Counter, and each line. In each result is
    what share of this machine others have used, if that makes a difference."""

    results: list
    lines: list


class Rig:
    """boots are the guests' titles, broke what some broke off with, complained what the
    kernels said, all with where that was. kernels(changed options) builds the two."""

    def __init__(self, build, name, kernels, out, progress, say, patched, host_cpus, host_nohz_full=False, nodes=1):
        cache = os.path.join(build, "guest")
        self.qemu = emulator.qemu(build, say)
        self.busybox = packages.busybox(cache)
        self.name, self.kernels, self.progress = name, kernels, progress
        self.guest, self.host = kernels()
        self.patched, self.host_nohz_full, self.host_cpus, self.nodes = patched, host_nohz_full, host_cpus, nodes
        self.out = os.path.join(out, name)
        os.makedirs(self.out, exist_ok=True)
        self.vmm = nested.build_vmm(COMPILER, self.out)
        self.files = {}
        self.boots, self.broke, self.complained = [], [], []

    def like(self, host_cpus=None, **changed):
        """One with other kernels, or a host of other CPUs, which counts together with this. A
        host of one CPU has a virtual clock: what else this machine does makes no difference."""
        other = copy.copy(self)
        other.host_cpus = host_cpus or self.host_cpus
        other.guest, other.host = self.kernels(**changed)
        other.host_nohz_full = changed.get("host_nohz_full", self.host_nohz_full)
        return other

    def compile(self, folder):
        """Each C file there becomes a program of L2's."""
        for path in sorted(glob.glob(os.path.join(folder, "*.c"))):
            program = os.path.basename(path)[:-len(".c")]
            self.files[program] = nested.compile_program(path, os.path.join(self.out, program), COMPILER)

    def compile_with_runtime(self, path, *words):
        """A C file that uses libvfrt becomes a program of L2's."""
        program = os.path.basename(path)[:-len(".c")]
        self.files[program] = nested.compile_program(
            path, os.path.join(self.out, program), COMPILER, [*words, *runtime()])

    def _boot(self, slug, cpus, script, words, host_words, longest, files, expected, title, dies, outer):
        prefix = ""
        if self.host_nohz_full and self.host_cpus > 1:  # the first always ticks
            host_words += f" nohz_full=1-{self.host_cpus - 1}"
            # Else it may well run where L1 has ticks.
            prefix = f"taskset {1 << self.host_cpus - 1}" if cpus < self.host_cpus else ""
        initrd = nested.write(
            self.out, self.host, self.busybox, self.vmm, cpus, {**self.files, **files},
            script + SAY, inner=self.guest, words=words, prefix=prefix,
            counters=[f"{self.name.split('-')[0]}_*", *COUNTERS, *([nested.NODES] if self.nodes > 1 else [])],
            before=outer[0], after=outer[1])
        counter = nested.Counter()
        console = os.path.join(self.out, f"{slug}.L1")

        def seen(line):
            counter.line(line)
            self.progress.at(f"{title}: run {len(counter.results)} of {expected}")

        self.boots.append(title)
        virtual = self.host_cpus == 1
        heard, others = [], Others()
        try:
            lines = machine.boot(
                self.qemu, self.host.image, initrd, self.host_cpus, nested.L1_MEGABYTES, name=nested.L1,
                seen=lambda line: (heard.append(line), seen(line)),
                silence=longest * (SLOWER if virtual else 1) + SILENCE_S,
                words=f"{HOST_WORDS} {host_words}", console=console, dies=dies,
                virtual=virtual, nodes=self.nodes, sockets=self.nodes)
        finally:
            with open(os.path.join(self.out, f"{slug}.L2"), "w") as file:
                file.write("\n".join(heard) + "\n")
            with open(console, errors="replace") as file:
                said = {"L1": file.read(), "L2": "\n".join(heard)}
            for who, text in said.items():
                self.complained += [f"{title}: {who}: {line}" for line in complaints(text)]
        nested.check(lines)
        if len(counter.results) != expected:
            raise Broken(f"the guest did {len(counter.results)} runs of {expected}")
        for result in counter.results if not virtual else ():
            result["others"] = round(others.share(), 3)
        return Ran(counter.results, lines)

    def run(self, title, cpus, script, expected, longest=0, words="", host_words="", files=None,
            dies=None, outer=("", "")):
        """Boots L1, and L2 with cpus vCPUs, which runs script; it prints as many results as
        expected. Begun anew if it breaks off. longest is how many seconds it prints nothing,
        dies what it is meant to panic of. outer is what L1 runs before the VMM and after it."""
        slug = re.sub(r"\W+", "-", title).strip("-")

        tries = itertools.count(1)

        def boot():
            number = next(tries)
            try:
                return self._boot(f"{slug}-try-{number}" if number > 1 else slug, cpus, script, words,
                                  host_words, longest, files or {}, expected, title, dies, outer)
            except Broken as error:
                raise Broken(f"{title}: {error}")

        def heard(error, again):
            self.broke.append(str(error))
            if again:
                self.progress.end()
                print(f"kernel-test {self.name}: once more: {error}", file=sys.stderr, flush=True)

        return until_whole(boot, heard)

    def record(self):
        return {"boots": len(self.boots), "broke": self.broke, "complained": self.complained}
