/*===- platform/linux/shootdown.c - How this machine flushes TLBs ----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*/

#include "platform/linux/shootdown.h"
#include "platform/linux/memory_policy.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The first CPU's flags end within 2.5 KB on the x86-64 machines that we know,
 * and "CPU implementer" is in the first 400 bytes on Arm. */
#define TEXT 8192

/* Returns true if the word stands among the flags, between blanks. */
static bool has_flag(const char *cpuinfo, const char *word) {
  const char *flags = strstr(cpuinfo, "flags\t");
  if (!flags)
    return false;
  size_t length = strlen(word);
  const char *end = flags + strcspn(flags, "\n");
  for (const char *at = flags; (at = strstr(at, word)) != NULL && at < end;
       at += length)
    if (at[-1] == ' ' && (at[length] == ' ' || at + length == end))
      return true;
  return false;
}

struct vf_flushes vf_flushes_of(const char *cpuinfo) {
  return (struct vf_flushes){
      .is_broadcast = has_flag(cpuinfo, "invlpgb") ||
                      has_flag(cpuinfo, "rar") ||
                      strstr(cpuinfo, "CPU implementer") != NULL,
      .is_virtual = has_flag(cpuinfo, "hypervisor"),
      .nodes = 1,
  };
}

static unsigned count(const struct vf_nodes *nodes) {
  unsigned n = 0;
  for (size_t i = 0; i != sizeof nodes->words / sizeof *nodes->words; ++i)
    n += (unsigned)__builtin_popcountl(nodes->words[i]);
  return n;
}

struct vf_flushes vf_flushes(void) {
  char text[TEXT];
  int saved = errno;
  ssize_t n = 0, more;
  /* By syscall(), as open, read and close are cancellation points. */
  int file =
      (int)syscall(SYS_openat, AT_FDCWD, "/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    while (n < TEXT - 1 && (more = syscall(SYS_read, file, text + n,
                                           (size_t)(TEXT - 1 - n))) > 0)
      n += more;
    syscall(SYS_close, file);
  }
  text[n] = '\0';
  struct vf_flushes found = vf_flushes_of(text);
  struct vf_nodes nodes;
  if (vf_allowed_nodes(&nodes) == 0 && count(&nodes) > 1)
    found.nodes = count(&nodes);
  errno = saved;
  return found;
}
