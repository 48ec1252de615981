# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots an initramfs in an emulated machine and reads what its script prints."""

import ctypes
import functools
import mmap
import os
import re
import subprocess
import tempfile
import time

from guest import Broken

# Each was found necessary, see the words after it; nothing else is.
COMMAND_LINE = " ".join((
    "console=ttyS0", "quiet",
    "panic=-1",           # a panic resets, which ends QEMU
    "rdinit=/init",
    "mitigations=off",    # that of a CPU that is emulated are for nothing
    "tsc=reliable",       # Linux measures the emulated one and finds it unstable
    "no_timer_check",     # nor does the oldest timer hold its promises
))
# Where Debian's packages have it, for a QEMU that is not Debian's.
FIRMWARE = ("/usr/share/qemu", "/usr/share/seabios")
# A guest that says nothing for so long is stuck. To its first line it takes 4 s on an
# idle machine, 20 s on a busy one; one in it takes as long again.
SILENCE_S = 180
POLL_S = 0.2


def _ticks():
    """This machine's time stamp counter, as a function."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    code.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    function = ctypes.CFUNCTYPE(ctypes.c_uint64)(at)
    function.code = code  # lives as long
    return function


@functools.cache
def tsc_khz():
    """How fast the emulated one is: as this machine's. Linux would measure it by a timer,
    wrong by up to 1 % as that is emulated, too, and again a second later. With KVM it is
    fatal if the two differ by 250 ppm: its guests' timers may never expire."""
    ticks = _ticks()

    def both():
        """The counter and the clock at one moment: where the two readings are closest."""
        tries = []
        for _ in range(100):
            begin, counter, end = time.monotonic_ns(), ticks(), time.monotonic_ns()
            tries.append((end - begin, counter, (begin + end) / 2))
        return min(tries)[1:]

    begin = both()
    time.sleep(0.2)
    end = both()
    return round((end[0] - begin[0]) * 1e6 / (end[1] - begin[1]))


# One thread a CPU: with one for all, guests hang at times, and there is no preemption to see.
REAL_TIME = ("-accel", "tcg,thread=multi")
# An instruction takes 8 ns, and to wait takes none: such a machine does not notice what else
# this one has to do. Its time stamp counter counts nanoseconds; its HPET is twice too fast.
# It has one CPU, as another would never start.
VIRTUAL_TIME = ("-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off")
VIRTUAL_TIME_WORDS = "tsc_early_khz=1000000 hpet=disable"


def _memory(nodes, cpus, megabytes):
    """Nodes of equal size. The first have a CPU each, and the rest of the CPUs goes to the
    last of them; the other nodes have memory only."""
    if nodes == 1:
        return ["-m", str(megabytes)]
    with_cpus = min(nodes, cpus)
    words = ["-m", str(megabytes // nodes * nodes)]
    for node in range(nodes):
        last = cpus - 1 if node == with_cpus - 1 else node
        here = f",cpus={node}-{last}" if node < with_cpus else ""
        words += ["-object", f"memory-backend-ram,id=memory{node},size={megabytes // nodes}M",
                  "-numa", f"node,nodeid={node},memdev=memory{node}{here}"]
    return words


def _command(qemu, kernel, initrd, cpus, megabytes, console, results, words, virtual, nodes):
    clock = VIRTUAL_TIME_WORDS if virtual else f"tsc_early_khz={tsc_khz()}"
    return [
        qemu, *(VIRTUAL_TIME if virtual else REAL_TIME),
        # It has SVM, for a guest in the guest.
        "-cpu", "EPYC", "-smp", str(cpus), *_memory(nodes, cpus, megabytes),
        "-kernel", kernel, "-initrd", initrd, "-append", f"{COMMAND_LINE} {clock} {words}".rstrip(),
        "-display", "none", "-nodefaults", "-no-reboot", *(w for f in FIRMWARE for w in ("-L", f)),
        "-serial", f"file:{console}", "-serial", f"file:{results}",
    ]


class Tail:
    """The whole lines that a file has got since it was last looked at."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.rest = b""

    def lines(self):
        *whole, self.rest = (self.rest + self.file.read()).split(b"\n")
        return [line.decode(errors="replace").rstrip("\r") for line in whole]


def _text(path):
    with open(path, errors="replace") as file:
        return file.read()


def _panic(text, but=None):
    found = [p.strip() for p in re.findall(r"Kernel panic - .*", text) if not but or but not in p]
    return found[0] if found else ""


def _last(lines):
    words = [line for line in lines if line.strip()]
    return f", after: {words[-1][:200]}" if words else ", without a word"


def boot(qemu, kernel, initrd, cpus, megabytes, name="guest", seen=None, silence=SILENCE_S,
         words="", console=None, dies=None, virtual=False, nodes=1):
    """What the script printed, line by line. seen(line), if given, hears each line as
    it comes. A script that has begun to print and then prints nothing for silence
    seconds is given up; for the kernel before it, SILENCE_S is the least that is fair.
    words are added to the kernel's command line; console, if given, is the file that the
    kernel's messages are left in, however it ends. dies is what a guest of the guest may
    panic of. virtual gives it a clock that counts instructions, not seconds. nodes is the
    number of NUMA nodes, described to the guest by its firmware."""
    lines, ended = [], None
    with tempfile.TemporaryDirectory() as work:
        console = console or os.path.join(work, "console")
        results = os.path.join(work, "results")
        errors = os.path.join(work, "errors")
        for path in (console, results):
            open(path, "w").close()
        tail = Tail(results)

        def read():
            new = tail.lines()
            for line in new:
                lines.append(line)
                if seen:
                    seen(line)
            return new

        with open(errors, "w") as log:
            child = subprocess.Popen(
                _command(qemu, kernel, initrd, cpus, megabytes, console, results, words, virtual,
                         nodes),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
            heard = time.monotonic()
            try:
                while child.poll() is None:
                    patience = silence if lines else SILENCE_S
                    if time.monotonic() > heard + patience:
                        break
                    time.sleep(POLL_S)
                    if read():
                        heard = time.monotonic()
                ended = child.poll()
            finally:
                child.kill()
                child.wait()
        read()
        tail.file.close()
        panic, inner = _panic(_text(console)), _panic("\n".join(lines), dies)
        complaint = _text(errors).strip().splitlines()
        spoken = lines or _text(console).splitlines()
    if panic:
        raise Broken(f"the {name} died: {panic}")
    if inner:
        raise Broken(f"a guest of the {name} died: {inner}")
    if ended is None:
        raise Broken(f"the {name} said nothing for {patience} s{_last(spoken)}")
    if ended:
        raise Broken(f"{os.path.basename(qemu)} failed with status {ended}"
                     f"{': ' + complaint[-1] if complaint else ''}")
    status = re.fullmatch(rf"{name}: end (\d+)", lines[-1]) if lines else None
    if not status:
        raise Broken(f"the {name} reset before its script was done{_last(spoken)}")
    if status.group(1) != "0":
        raise Broken(f"the {name}'s script ended with status {status.group(1)}{_last(lines[:-1])}")
    return lines[:-1]
