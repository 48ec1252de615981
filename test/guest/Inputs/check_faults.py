# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots guests that go wrong, each in its own way, and prints what is made of that."""

import os
import sys

root, build, out = sys.argv[1:]
sys.path.append(os.path.join(root, "test", "rigs"))

from guest import Broken, initramfs, machine, packages  # noqa: E402

QEMU = packages.qemu()
KERNEL = packages.kernel(os.path.join(build, "guest"))
BUSYBOX = packages.busybox(os.path.join(build, "guest"))
MEGABYTES = 256
# Counts from when the script has begun; nothing here takes longer then.
SILENCE_S = 10
# More than any machine of QEMU's has.
TOO_MANY_CPUS = 1000

os.makedirs(out, exist_ok=True)


def boot(what, script, kernel=KERNEL.image, cpus=1, **more):
    initrd = initramfs.write(os.path.join(out, "guest.cpio"), BUSYBOX, {}, script)
    try:
        lines = machine.boot(QEMU, kernel, initrd, cpus, MEGABYTES, silence=SILENCE_S, **more)
        print(f"{what}: {' '.join(lines)}")
    except Broken as error:
        print(f"{what}: {error}")


boot("works", "echo hello")
boot("waits for nobody", "sleep 1000; echo awake", virtual=True)
boot("fails", "echo cannot go on; exit 3")
boot("panics", "echo c > /proc/sysrq-trigger")
boot("resets", "echo bye; reboot -f")
boot("hangs", "echo zzz; sleep 1000")
boot("no machine", "echo hello", cpus=TOO_MANY_CPUS)
boot("no kernel", "echo hello", kernel=os.path.join(out, "none"))
