/*===- platform/linux/shortage.c - CPUs that the host takes away ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "platform/linux/shortage.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_EVERY_NS 200000000u
/* The kernel counts in hundredths of a second for programs. */
#define TICK_NS 10000000u
#define STOLEN_PART 10
/* "steal" is the eighth number of the first line. */
#define STEAL 7

static bool read_stolen(uint64_t *ticks) {
  char text[256];
  int file =
      (int)syscall(SYS_openat, AT_FDCWD, "/proc/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  long n = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  text[n > 0 ? n : 0] = '\0';
  char *at = strchr(text, ' ');
  for (int i = 0; at && i <= STEAL; ++i)
    *ticks = strtoull(at, &at, 10);
  return at != NULL;
}

bool vf_shortage_stolen(struct vf_shortage *shortage, uint64_t now) {
  uint64_t elapsed = now - shortage->read_at, stolen = 0;
  if (shortage->read_at != 0 && elapsed < READ_EVERY_NS)
    return shortage->is_stolen;
  int saved = errno;
  if (read_stolen(&stolen)) {
    shortage->is_stolen =
        shortage->read_at != 0 &&
        (stolen - shortage->stolen) * TICK_NS * STOLEN_PART > elapsed;
    shortage->stolen = stolen;
    shortage->read_at = now;
  }
  errno = saved;
  return shortage->is_stolen;
}
