# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QEMU with the project's series as the VMM of a guest that uses a series of Linux.

In L1, whose KVM has the series, QEMU boots L2, which prints a line at a time. After some lines
its state is written to a file, QEMU ends, and another reads the state and goes on. A CPU
without the feature's bit gives a guest without it, and refuses the state.
"""

import json
import os
import re

from dataclasses import dataclass

from guest import Broken, initramfs, machine, nested

# QEMU itself, beside L2's memory and the file with its state.
L1_MEGABYTES, L2_MEGABYTES, L2_CPUS = 1536, 256, 2
LINES = 3  # of L2, before its state is saved, and after it is restored
LIMIT_S = 240
FIRMWARE = ("bios-256k.bin", "linuxboot_dma.bin", "kvmvapic.bin")
WORDS = "console=ttyS0 quiet panic=-1 rdinit=/init mitigations=off no_timer_check nokaslr reboot=k"
# await: until all lines are there, of a guest that may not have begun yet. If it ends before,
# nobody reads its monitor's pipe any more, so the script ends, too, and says what it left.
L1_SCRIPT = """
mkdir -p /dev/shm
boot() {{
  name=$1 cpu=$2
  shift 2
  echo "boots: $name"
  mkfifo /$name.in /$name.out
  /qemu -M pc -accel kvm -cpu $cpu -smp {cpus} -m {megabytes} -nodefaults -display none -no-reboot -L /firmware \\
    -kernel /vmlinuz -initrd /l2.cpio -append '{words}' -serial null -serial file:/$name.log -monitor pipe:/$name "$@" \\
    2>/$name.errors &
  qemu=$!
}}
await() {{
  n=0
  while [ "$(cat /$name.log 2>/dev/null | grep -c .)" -lt {lines} ]; do
    n=$((n + 1))
    kill -0 $qemu 2>/dev/null || {{ ended; echo "$name: broke off, status $status"; dmesg | tail -n 8; exit 1; }}
    [ $n -lt {limit} ] || {{ echo "$name: printed too little in {limit} s"; break; }}
    sleep 1
  done
}}
ended() {{
  wait $qemu
  status=$?
  sed "s/^/$name: /" /$name.log /$name.errors
}}
boot saved host
await
echo 'migrate "exec:cat >/state"' >/saved.in
echo quit >/saved.in
ended
boot restored host -incoming 'exec:cat /state'
await
echo quit >/restored.in
ended
boot without host,-{feature}
await
echo quit >/without.in
ended
boot refused host,-{feature} -incoming 'exec:cat /state'
ended
"""


@dataclass(frozen=True)
class Guest:
    """What a series' guest prints with QEMU, a value a line, and what the values tell."""

    feature: str   # QEMU's name of the bit
    script: str    # goes on for as long as LIMIT_S, or until it is ended
    has: object    # values -> whether the guest has the feature
    goes_on: object  # values before its state was saved, and after it was restored -> whether the state was its own
    refusal: str   # what QEMU says of the state if the CPU is without the bit


def lines_of(lines, name):
    return [line.split(": ", 1)[1] for line in lines if line.startswith(name + ": ")]


def values(lines, name):
    """Returns what each line of L2 says: a number, or the ratio of two members of an object."""
    found = []
    for line in lines_of(lines, name):
        if re.fullmatch(r"{.*}", line):  # A guest that ends may leave its last line cut.
            record = json.loads(line)
            found.append(record["interrupts"] / record["ops"])
        elif re.fullmatch(r"[0-9]+", line):
            found.append(int(line))
    if len(found) < LINES:
        raise Broken(f"{name}: {len(found)} values of {LINES}, after: {(lines_of(lines, name) or [str()])[-1]}")
    return found


def firmware():
    found = {}
    for name in FIRMWARE:
        paths = [os.path.join(folder, name) for folder in machine.FIRMWARE]
        found[f"firmware/{name}"] = next((p for p in paths if os.path.exists(p)), None)
        if not found[f"firmware/{name}"]:
            raise Broken(f"QEMU's firmware {name} is in none of {', '.join(machine.FIRMWARE)}")
    return found


def boot(rig, vmm, script, feature):
    """Returns what the four guests printed."""
    initrd = initramfs.write(os.path.join(rig.out, "l2.cpio"), rig.busybox, rig.files, script, nested.L2)
    text = L1_SCRIPT.format(cpus=L2_CPUS, megabytes=L2_MEGABYTES, words=WORDS, lines=LINES, limit=LIMIT_S, feature=feature)
    files = {"qemu": vmm, "vmlinuz": rig.guest.image, "l2.cpio": initrd, **firmware()}
    outer = initramfs.write(os.path.join(rig.out, "l1.cpio"), rig.busybox, files, text, nested.L1)
    return machine.boot(rig.qemu, rig.host.image, outer, rig.host_cpus, L1_MEGABYTES, name=nested.L1, silence=LIMIT_S,
                        seen=lambda line: print(f"  {line}", flush=True),
                        words="loglevel=5", console=os.path.join(rig.out, "qemu.L1"))


def main(rig, wanted, vmm, report):
    """wanted: the module's Guest. Returns the exit status."""
    lines = boot(rig, vmm, wanted.script, wanted.feature)
    found = {name: values(lines, name) for name in ("saved", "restored", "without")}
    refused = lines_of(lines, "refused")
    verdicts = {
        f"with {wanted.feature}: {found['saved']}": wanted.has(found["saved"]),
        f"restored: {found['restored']}": wanted.has(found["restored"]) and wanted.goes_on(found["saved"], found["restored"]),
        f"without {wanted.feature}: {found['without']}": not wanted.has(found["without"]),
        f"state refused without {wanted.feature}: {refused[:1]}": any(wanted.refusal in line for line in refused),
    }
    for text, good in verdicts.items():
        print(f"{'ok' if good else 'FAILED'}: {text}", flush=True)
    report.content["samples"].append({**found, "refused": refused})
    report.write()
    return 0 if all(verdicts.values()) else 1
