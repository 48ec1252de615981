/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * hosted MEGABYTES: two threads, on vCPU 0 and 1, access one range together
 * and another each alone, all filled by vCPU 0, until SIGTERM. The VMM is
 * asked before and after it: see mark.h. */

#define _GNU_SOURCE
#include "huge.h"
#include "mark.h"
#include "users.h"
#include <stdio.h>
#include <string.h>

enum { PAGE = 4096, STAMP = 512 };
static size_t size;
static char *shared, *private[USERS];

/* The stamps tell whether a page was lost or exchanged for another. */
static char *filled(int advice) {
  char *memory = map_aligned(size);
  if (advice)
    madvise(memory, size, advice);
  for (size_t at = 0; at < size; at += PAGE)
    memcpy(memory + at + STAMP, &at, sizeof at);
  return memory;
}

static unsigned long count_of(const char *memory, size_t at) {
  return __atomic_load_n((const unsigned long *)(memory + at),
                         __ATOMIC_RELAXED);
}

/* Pages whose stamp is another, or that have not as many accesses as others of
 * the range. */
static size_t wrong(const char *memory) {
  size_t found = 0;
  for (size_t at = 0; at < size; at += PAGE) {
    size_t stamp;
    memcpy(&stamp, memory + at + STAMP, sizeof stamp);
    found += stamp != at || count_of(memory, at) != count_of(memory, 0);
  }
  return found;
}

static void access_once(int cpu) {
  for (size_t at = 0; at < size; at += PAGE) {
    __atomic_fetch_add((unsigned long *)(shared + at), 1, __ATOMIC_RELAXED);
    __atomic_fetch_add((unsigned long *)(private[cpu] + at), 1,
                       __ATOMIC_RELAXED);
  }
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  size = strtoul(argv[1], NULL, 10) << 20;
  stay_on(0);
  shared = filled(0);
  private[0] = filled(0);
  private[1] = filled(MADV_HUGEPAGE);
  pthread_t users[USERS];
  start(users);
  mark(1);
  await_end();
  mark(2);
  join(users);
  printf("{\"case\": \"placed\", \"wrong\": %zu}\n",
         wrong(shared) + wrong(private[0]) + wrong(private[1]));
  fflush(stdout);
  return 0;
}
