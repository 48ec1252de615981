# Part of the vfriendly project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_guest.py SOURCE BUILD OUT CLANG: what needs a machine of one's own, in an emulated
guest with 3 CPUs: version 2 cpusets, CPUs that go offline, and a clock that jumps."""

import os
import sys

source, build, out, clang = sys.argv[1:]
for folder in ("", "bench", "bench/gleaner"):
    sys.path.append(os.path.join(source, "test", "rigs", folder))
from guest import initramfs, machine, packages  # noqa: E402
import guests  # noqa: E402

SCRIPT = """
mount -t cgroup2 none /sys/fs/cgroup
VF_TEST_GLEANER_FOLD=2 /gleaner run --no-retain --physical -- sleep 1000 &
supervisor=$!
allowed() { sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/$command/status; }
until_is() {
  n=0
  while [ "$(allowed)" != "$1" ]; do
    n=$((n + 1))
    [ $n -lt 600 ] || { echo "$2: $(allowed), not $1"; exit 1; }
    sleep 0.1
  done
  echo "$2: $(allowed)"
}
while [ -z "$command" ]; do sleep 0.1; command=$(pidof sleep | tr ' ' '\\n' | while read p; do
  grep -q 1000 /proc/$p/cmdline && echo $p; done); done
until_is 0-1 confined
grep -o gleaner /proc/$command/cgroup
date -s 2030-01-01 > /dev/null
until_is 0-1 "clock jumped"
echo 0 > /sys/devices/system/cpu/cpu1/online
until_is 0,2 "CPU 1 offline"
echo 1 > /sys/devices/system/cpu/cpu1/online
for child in $(cat /proc/$supervisor/task/$supervisor/children); do
  [ $child = $command ] || daemon=$child
done
kill -9 $daemon
until_is 0-2 "daemon killed"
kill $command
wait $supervisor
echo "status $?"
ls -d /sys/fs/cgroup/gleaner* 2>/dev/null
echo done
"""


def main():
    os.makedirs(out, exist_ok=True)
    cache = os.path.join(build, "guest")
    kernel, busybox = packages.kernel(cache), packages.busybox(cache)
    program = guests.static_gleaner(source, clang, os.path.join(out, "gleaner"))
    initrd = initramfs.write(os.path.join(out, "guest.cpio"), busybox, {"gleaner": program}, SCRIPT)
    for line in machine.boot(packages.qemu(), kernel.image, initrd, 3, 512):
        print(line)


main()
