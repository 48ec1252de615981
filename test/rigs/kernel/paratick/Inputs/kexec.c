// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kexec reboot|crash KERNEL INITRD WORDS: starts another kernel in this
// machine, with the command line of the present one and these words, in good
// order or out of a panic; after that it has one CPU, as the others cannot be
// relied on. Of the machine nothing is reset: what the first asked the
// hypervisor for it must have taken back.

#include <err.h>
#include <fcntl.h>
#include <linux/kexec.h>
#include <linux/reboot.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv) {
  bool crash = argc == 5 && !strcmp(argv[1], "crash");
  if (argc != 5 || (!crash && strcmp(argv[1], "reboot")))
    errx(2, "usage: kexec reboot|crash KERNEL INITRD WORDS");
  char line[2048] = "";
  FILE *file = fopen("/proc/cmdline", "r");
  if (!file || !fgets(line, sizeof line, file))
    err(1, "/proc/cmdline");
  line[strcspn(line, "\n")] = 0;
  size_t length = strlen(line);
  snprintf(line + length, sizeof line - length, " %s%s", argv[4],
           crash ? " nr_cpus=1" : "");
  int kernel = open(argv[2], O_RDONLY), initrd = open(argv[3], O_RDONLY);
  if (kernel < 0 || initrd < 0)
    err(1, "%s or %s", argv[2], argv[3]);
  if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(line) + 1, line,
              crash ? KEXEC_FILE_ON_CRASH : 0UL))
    err(1, "kexec_file_load");
  if (crash) {
    int trigger = open("/proc/sysrq-trigger", O_WRONLY);
    if (write(trigger, "c", 1) != 1)
      err(1, "/proc/sysrq-trigger");
  }
  syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
          LINUX_REBOOT_CMD_KEXEC, 0);
  err(1, "kexec");
}
