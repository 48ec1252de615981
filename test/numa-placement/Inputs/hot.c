/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * hot MEGABYTES: two threads, on CPU 0 and 1, access one range together and
 * another each alone, all filled by CPU 0, until SIGTERM. Says where their
 * pages lie before and after. */

#define _GNU_SOURCE
#include "pages.h"
#include "users.h"

static size_t size;
static char *shared, *private[USERS];

static char *filled(void) {
  char *memory = map_apart(size);
  madvise(memory, size, MADV_NOHUGEPAGE);
  memset(memory, 1, size);
  return memory;
}

static void access_once(int cpu) {
  for (size_t i = 0; i < size; i += PAGE) {
    __atomic_fetch_add(&shared[i], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&private[cpu][i], 1, __ATOMIC_RELAXED);
  }
}

static void show(const char *when, const char *what, const char *memory) {
  struct spread s = maps_of(memory, size);
  printf("{\"when\": \"%s\", \"what\": \"%s\", \"pages\": [%ld, %ld]}\n", when,
         what, s.pages[0], s.pages[1]);
  fflush(stdout);
}

static void show_all(const char *when) {
  show(when, "shared", shared);
  show(when, "private 0", private[0]);
  show(when, "private 1", private[1]);
}

int main(int argc, char **argv) {
  size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 8) << 20;
  stay_on(0);
  shared = filled();
  for (int i = 0; i < USERS; ++i)
    private[i] = filled();
  show_all("before");
  pthread_t users[USERS];
  start(users);
  await_end();
  join(users);
  show_all("after");
  return 0;
}
