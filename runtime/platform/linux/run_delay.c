/*===- platform/linux/run_delay.c - Time that threads wait for CPUs -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * System calls, as opendir allocates memory.
 *===----------------------------------------------------------------------===*/

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "platform/linux/run_delay.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel writes it; glibc has no struct for the system call. */
struct entry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static uint64_t number(const char **at) {
  uint64_t value = 0;
  for (; is_digit(**at); ++*at)
    value = value * 10 + (uint64_t)(**at - '0');
  return value;
}

/* Reads "run time, time waited, slices". */
static bool read_statistics(int tasks, const char *path,
                            struct vf_run_statistics *to) {
  char text[96];
  int file = (int)syscall(SYS_openat, tasks, path, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0)
    return false;
  long got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  if (got <= 0)
    return false;
  text[got] = '\0';
  const char *at = text;
  uint64_t *const numbers[] = {&to->run_ns, &to->delay_ns, &to->slices};
  for (int i = 0; i != 3; ++i) {
    if (!is_digit(*at))
      return false;
    *numbers[i] = number(&at);
    at += *at == ' ';
  }
  return true;
}

static bool read_delay(int tasks, const char *thread, uint64_t *ns) {
  struct vf_run_statistics statistics;
  char path[32];
  size_t length = strlen(thread);
  if (length > 10)
    return false;
  memcpy(path, thread, length);
  memcpy(path + length, "/schedstat", sizeof "/schedstat");
  if (!read_statistics(tasks, path, &statistics))
    return false;
  *ns = statistics.delay_ns;
  return true;
}

bool vf_run_statistics_of(int thread, struct vf_run_statistics *statistics) {
  char path[64] = "/proc/self/task/", digits[12];
  size_t n = 0, at = strlen(path);
  int saved = errno;
  do
    digits[n++] = (char)('0' + thread % 10);
  while ((thread /= 10) != 0);
  while (n != 0)
    path[at++] = digits[--n];
  memcpy(path + at, "/schedstat", sizeof "/schedstat");
  bool done = read_statistics(AT_FDCWD, path, statistics);
  errno = saved;
  return done;
}

/* Returns the delay of the thread at the last call, or `ns` if there was none.
 * Threads are listed in the order of their creation, so the search is short. */
static uint64_t last_of(const struct vf_run_delays *last, unsigned *from,
                        uint32_t thread, uint64_t ns) {
  for (unsigned i = *from; i != last->n; ++i)
    if (last->of[i].thread == thread) {
      *from = i + 1;
      return last->of[i].ns;
    }
  return ns;
}

uint64_t vf_run_delay_grown(struct vf_run_delays *delays) {
  _Alignas(struct entry) char entries[2048];
  struct vf_run_delays now = {0};
  unsigned from = 0;
  uint64_t most = 0;
  long length;
  int saved = errno;
  int tasks = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task",
                           O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  while (tasks >= 0 && now.n != VF_RUN_DELAYS &&
         (length = syscall(SYS_getdents64, tasks, entries, sizeof entries)) >
             0) {
    for (long at = 0; at < length && now.n != VF_RUN_DELAYS;) {
      const struct entry *entry = (const struct entry *)(entries + at);
      const char *name = entry->name;
      uint64_t ns;
      at += entry->length;
      /* Others are "." and "..", and threads that have just ended. */
      if (!is_digit(*name) || !read_delay(tasks, name, &ns))
        continue;
      uint32_t thread = (uint32_t)number(&name);
      uint64_t last = last_of(delays, &from, thread, ns);
      if (ns - last > most && ns >= last)
        most = ns - last;
      now.of[now.n].thread = thread;
      now.of[now.n++].ns = ns;
    }
  }
  if (tasks >= 0)
    syscall(SYS_close, tasks);
  errno = saved;
  *delays = now;
  return now.n == 0 ? VF_RUN_DELAY_UNKNOWN : most;
}
