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

# Each is necessary, for the reason after it.
COMMAND_LINE = " ".join((
    "console=ttyS0", "quiet",
    "panic=-1",           # a panic resets, which ends QEMU
    "rdinit=/init",
    "mitigations=off",    # useless on an emulated CPU
    "tsc=reliable",       # Linux measures the emulated counter and finds it unstable
    "no_timer_check",     # emulated timers can be too late for the test that Linux makes of them
))
# Folders of Debian's packages, for a QEMU that is not Debian's.
FIRMWARE = ("/usr/share/qemu", "/usr/share/seabios")
# A guest without output for this long is stuck. Its first line comes after 4 s on an idle
# machine and 20 s on a busy one; a nested guest takes as long again.
SILENCE_S = 180
POLL_S = 0.2


def _ticks():
    """Returns a function that reads this machine's time stamp counter."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    code.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))
    at = ctypes.addressof(ctypes.c_char.from_buffer(code))
    function = ctypes.CFUNCTYPE(ctypes.c_uint64)(at)
    function.code = code  # keeps the mapping alive
    return function


@functools.cache
def tsc_khz():
    """Returns the frequency of the emulated time stamp counter, which is this machine's. Linux
    would measure it twice, by an emulated timer with an error of up to 1 %. If the two results
    differ by 250 ppm, timers of KVM's guests may never expire."""
    ticks = _ticks()

    def both():
        """Returns counter and clock of one moment: the closest of 100 pairs of readings."""
        tries = []
        for _ in range(100):
            begin, counter, end = time.monotonic_ns(), ticks(), time.monotonic_ns()
            tries.append((end - begin, counter, (begin + end) / 2))
        return min(tries)[1:]

    begin = both()
    time.sleep(0.2)
    end = both()
    return round((end[0] - begin[0]) * 1e6 / (end[1] - begin[1]))


# A thread for each CPU. With one for all, guests sometimes hang, and no vCPU is preempted.
REAL_TIME = ("-accel", "tcg,thread=multi")
# Guests of the guest in which two pairs of threads hand over to each other end by a triple fault, or hang,
# with a thread for each CPU, and not with one for all.
ONE_THREAD = ("-accel", "tcg,thread=single")
# An instruction takes 8 ns (2^3) and waiting takes no time, so the load of this machine makes no
# difference. The time stamp counter counts nanoseconds; the HPET runs twice too fast. Only one
# CPU: a second one would never start.
VIRTUAL_TIME = ("-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off")
VIRTUAL_TIME_WORDS = "tsc_early_khz=1000000 hpet=disable"


def _memory(nodes, cpus, megabytes):
    """Returns QEMU's options for nodes of equal size. Each of the first nodes has one CPU, the
    last of them all remaining CPUs; if there are more nodes than CPUs, the others have none."""
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


def _command(qemu, kernel, initrd, cpus, megabytes, console, results, words, virtual, nodes, one_thread, sockets):
    clock = VIRTUAL_TIME_WORDS if virtual else f"tsc_early_khz={tsc_khz()}"
    return [
        qemu, *(VIRTUAL_TIME if virtual else ONE_THREAD if one_thread else REAL_TIME),
        # This CPU has SVM, which nested guests need.
        "-cpu", "EPYC", "-smp", f"{cpus},sockets={sockets}", *_memory(nodes, cpus, megabytes),
        "-kernel", kernel, "-initrd", initrd, "-append", f"{COMMAND_LINE} {clock} {words}".rstrip(),
        "-display", "none", "-nodefaults", "-no-reboot", *(w for f in FIRMWARE for w in ("-L", f)),
        "-serial", f"file:{console}", "-serial", f"file:{results}",
    ]


class Tail:
    """Reads the complete lines that were appended to a file since the last call of lines()."""

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
         words="", console=None, dies=None, virtual=False, nodes=1, one_thread=False, sockets=1):
    """Boots a guest and returns the lines that its script printed.

    seen(line), if given, is called for each line as it comes. Raises Broken if the guest prints
    nothing for SILENCE_S before its first line, or for silence seconds after it. words are added
    to the kernel's command line. The kernel's messages are kept in the file console, if given,
    even if the boot fails. A nested guest may panic with the message dies. virtual: the clock
    counts instructions (VIRTUAL_TIME). nodes: number of NUMA nodes that the firmware reports.
    one_thread: see ONE_THREAD. sockets: number of them; a kernel warns of one that is on two nodes."""
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
                         nodes, one_thread, sockets),
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
