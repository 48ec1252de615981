# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots a guest in the guest, and counts the inner one's exits by reason.

L1, emulated with AMD's SVM, has KVM and runs L2 by Inputs/vmm.c. KVM's trace events in
L1, as histograms, are read at each mark that L2 sets: see Inputs/mark.h.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass

from guest import Broken, initramfs

HERE = os.path.dirname(os.path.abspath(__file__))
# L1's script finds these by name.
VMM, KERNEL, INITRD = "vmm", "vmlinuz", "l2.cpio"
# Megabytes. L2: what machine.py's guests need, 18 of programs twice (archive and files), and 60
# of the kernel. L1: all of L2's, and the initramfs of 38 twice.
L1_MEGABYTES, L2_MEGABYTES = 1024, 384
L1, L2 = "outer guest", "inner guest"
EVENTS = "/sys/kernel/tracing/events/kvm"
HISTOGRAMS = {
    "kvm_exit": "hist:keys=exit_reason",
    "kvm_msr": "hist:keys=ecx.hex if write==1",
    "kvm_hypercall": "hist:keys=nr",
}
COMMAND_LINE = " ".join((
    "console=ttyS0", "quiet", "panic=-1", "rdinit=/init", "mitigations=off", "no_timer_check",
    "reboot=k",   # by the keyboard controller, the only way that the VMM emulates
    "pci=off",    # the VMM has no PCI
    "nokaslr",
    "noxsave",    # or the VMM would have to compute CPUID's leaf of register sizes
))
# AMD64 Architecture Programmer's Manual, volume 2, appendix C. PAUSE (119) is not
# among them: QEMU's SVM has no pause filter.
EXITS = {96: "INTR", 100: "VINTR", 114: "CPUID", 120: "HLT", 123: "IOIO", 124: "MSR",
         129: "VMMCALL", 1024: "NPF"}
# The registers that Linux writes most. TSC_DEADLINE sets the timer, ICR interrupts another CPU;
# by PARATICK a kernel with the patches in runtime/kernel asks for ticks.
MSRS = {0x6E0: "TSC_DEADLINE", 0x830: "ICR", 0x80B: "EOI", 0x4B564D17: "PARATICK"}
# NUMA_RELEASE is of the series numa-queue.
HYPERCALLS = {5: "KICK_CPU", 10: "SEND_IPI", 11: "SCHED_YIELD", 13: "NUMA_POLICY", 14: "NUMA_RELEASE"}
# KVM's counters, summed over all guests: a file with a number for each.
COUNTERS = "/sys/kernel/debug/kvm"
# In an outer guest with several nodes, a further counter: pages of the inner guest by node.
NODES = "/proc/self/numa_maps"

SCRIPT = """
for m in {modules}; do insmod /$m || exit 1; done
mount -t tracefs tracefs /sys/kernel/tracing
{triggers}
{counters}
{before}
{prefix} /{vmm} {cpus} {megabytes} /{kernel} /{initrd} '{line}' {histograms} $counters
{after}
"""


# Lists the counters that this kernel has; without any, the shell leaves the pattern unexpanded.
FIND_COUNTERS = """mount -t debugfs debugfs /sys/kernel/debug
counters=
for f in {patterns}; do [ -f $f ] && counters="$counters $f"; done
"""


FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread")


def compile_program(source, target, compiler, more=()):
    """Compiles a static program, as guests have no libraries. It may include mark.h. more are
    further sources and options of the compiler."""
    done = subprocess.run([compiler, *FLAGS, "-I", os.path.join(HERE, "Inputs"), "-o", target, source, *more],
                          capture_output=True, text=True)
    if done.returncode:
        raise Broken(f"{os.path.basename(source)} does not compile: {done.stderr.strip()}")
    return target


def build_vmm(compiler, out):
    os.makedirs(out, exist_ok=True)
    return compile_program(os.path.join(HERE, "Inputs", "vmm.c"), os.path.join(out, VMM), compiler)


def write(out, kernel, busybox, vmm, cpus, files, script, inner=None, words="", counters=(),
          prefix="", before="", after=""):
    """L1's initramfs, with one for L2 in it, which has the files and runs the script.
    inner is L2's kernel if it is another one; words are added to its command line.
    counters are patterns of KVM's counters, or NODES, that are read at each mark, too. prefix comes
    before the VMM's command; before and after are what L1 runs before and after it."""
    initrd = initramfs.write(os.path.join(out, INITRD), busybox, files, script, L2, "ttyS0")
    text = SCRIPT.format(
        modules=" ".join(map(os.path.basename, kernel.modules)),
        triggers="\n".join(f"echo '{h}' > {EVENTS}/{e}/trigger || exit 1"
                           for e, h in HISTOGRAMS.items()),
        before=before, after=after, vmm=VMM, cpus=cpus, megabytes=L2_MEGABYTES, kernel=KERNEL, initrd=INITRD,
        line=f"{COMMAND_LINE} {words}".rstrip(), prefix=prefix,
        counters=FIND_COUNTERS.format(patterns=" ".join(os.path.join(COUNTERS, c) for c in counters))
        if counters else "",
        histograms=" ".join(f"{EVENTS}/{e}/hist" for e in HISTOGRAMS),
    )
    files = {VMM: vmm, KERNEL: (inner or kernel).image, INITRD: initrd,
             **{os.path.basename(m): m for m in kernel.modules}}
    return initramfs.write(os.path.join(out, "l1.cpio"), busybox, files, text, L1)


def _name(key, what):
    """Returns the histogram and the entry that a line of output belongs to, or KVM's counter."""
    if key == "exit_reason":
        return "exit", EXITS.get(int(what), what)
    if key == "ecx":
        return "msr", MSRS.get(int(what, 16), f"0x{what}")
    if key == "nr":
        return "hypercall", HYPERCALLS.get(int(what), what)
    return "counter", what


RECORD = re.compile(r"\{ (exit_reason|ecx|nr|counter): +(\w+) \} hitcount: +(\d+)")


@dataclass
class Run:
    """What a program printed, with its exits; the interface of measure.Run that reports need."""

    values: dict

    def record(self):
        return self.values

    def exits(self, kind):
        exits = self.values["exits"]
        # Writes of MSRs are in there already, as exits of the kind MSR.
        return sum(exits["exit"].values()) if kind == "all" else exits["exit"].get(kind, 0) + exits["msr"].get(kind, 0)


class Counter:
    """Pairs L2's results with the exits between the two marks before each.

    Feed it lines; result() is then a list of dictionaries: what the program printed,
    and "exits", {"exit": {"HLT": 3}, "msr": {"ICR": 1}}: MSRs are those written, which
    are exits of the kind MSR as well; "hypercall", if there were any, are some of VMMCALL. Counters, if any were asked for, are in "counter"."""

    def __init__(self):
        self.marks, self.results = [], []

    def line(self, text):
        """Returns True if the line was a result."""
        record = RECORD.fullmatch(text.strip())
        if record:
            key, what, count = record.groups()
            if not self.marks:
                raise Broken(f"a count without a mark: {text}")
            self.marks[-1][1][_name(key, what)] = int(count)
            return False
        if not text.startswith('{"'):
            return False  # a message of the kernel
        try:
            values = json.loads(text)
        except ValueError:
            raise Broken(f"the {L2} printed half a line: {text[:200]}")
        if "mark" in values:
            self.marks.append((values["mark"], {}))
            return False
        if not self.marks:
            self.results.append(values)  # no exits were asked for
            return True
        if [number for number, _ in self.marks] != [1, 2]:
            raise Broken(f"marks {[n for n, _ in self.marks]} before a result, not 1 and 2")
        before, after = self.marks[0][1], self.marks[1][1]
        values["exits"] = {"exit": {}, "msr": {}}
        for (of, name), n in after.items():
            if n > before.get((of, name), 0):
                values["exits"].setdefault(of, {})[name] = n - before.get((of, name), 0)
        self.marks = []
        self.results.append(values)
        return True

    def runs(self):
        return [Run(values) for values in self.results]


def check(lines):
    """Returns True if L2's script ended, too; L1's last line tells only that the VMM ended."""
    if f"{L2}: end 0" in lines:
        return
    ends = [line for line in lines if line.startswith(f"{L2}: end")]
    words = [line for line in lines if line.strip() and not line.startswith(("{", L2))]
    raise Broken(f"{ends[0] if ends else f'the {L2} reset before its script was done'}"
                 f"{', after: ' + words[-1][:200] if words else ''}")
