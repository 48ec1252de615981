// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kexec KERNEL INITRD: starts another kernel in this machine, with the command
// line of the present one. Of the machine nothing is reset: what that one asked
// the hypervisor for it must have taken back.

#include <err.h>
#include <fcntl.h>
#include <linux/reboot.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3)
    errx(2, "usage: kexec KERNEL INITRD");
  char line[2048] = "";
  FILE *file = fopen("/proc/cmdline", "r");
  if (!file || !fgets(line, sizeof line, file))
    err(1, "/proc/cmdline");
  line[strcspn(line, "\n")] = 0;
  int kernel = open(argv[1], O_RDONLY), initrd = open(argv[2], O_RDONLY);
  if (kernel < 0 || initrd < 0)
    err(1, "%s or %s", argv[1], argv[2]);
  if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(line) + 1, line, 0UL))
    err(1, "kexec_file_load");
  syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
          LINUX_REBOOT_CMD_KEXEC, 0);
  err(1, "kexec");
}
