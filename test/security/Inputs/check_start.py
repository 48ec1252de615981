# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_start.py COUNT FOLDER: what each preloaded library adds to the instructions that `sh -c :` executes.

The bounds are those of one C library, of which the dynamic linker does most of the work. Elsewhere, and where single steps are
not allowed or those of the plain process are not the same twice, nothing is compared."""

import platform
import subprocess
import sys

LIBC = "2.36"  # Debian 12's
# 82225, 107203 and 106912 when this was written (count_start, Debian 12), beside 160510 of the process alone; and 2 % of the
# sums more.
MOST = {"libvfrt.so": 87_100, "libvfpthread.so": 112_600, "libvfmalloc.so": 112_300}

count, folder = sys.argv[1:3]
names = [f"{folder}/{name}" for name in MOST]
done = subprocess.run([count, *names], capture_output=True, text=True, check=False)
rows = [line.split() for line in done.stdout.splitlines()]
found = {name.rsplit("/", 1)[-1]: int(number) for name, number in rows}
if done.returncode or min(found.values()) < 0:
    print("not counted:", done.stdout, done.stderr)
    sys.exit()
if platform.libc_ver() != ("glibc", LIBC) or platform.machine() != "x86_64":
    print("not counted: another C library or processor:", platform.libc_ver())
    sys.exit()
bad = False
for name, most in MOST.items():
    added = found[name] - found["alone"]
    print(f"{name}: {added} of {most}")
    bad |= added > most
sys.exit(bad)
