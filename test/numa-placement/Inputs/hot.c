/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * hot MEGABYTES: two threads, on CPU 0 and 1, access one range together and
 * another each alone, all filled by CPU 0, until SIGTERM. Says where their
 * pages lie before and after. */

#define _GNU_SOURCE
#include "pages.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>

enum { THREADS = 2 };
static size_t size;
static char *shared, *private[THREADS];
static int stop;

static void bind_to(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  if (sched_setaffinity(0, sizeof mask, &mask))
    abort();
}

static char *filled(void) {
  char *memory = map_apart(size);
  madvise(memory, size, MADV_NOHUGEPAGE);
  memset(memory, 1, size);
  return memory;
}

static void *access_all(void *number) {
  int cpu = (int)(size_t)number;
  bind_to(cpu);
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
    for (size_t i = 0; i < size; i += PAGE) {
      __atomic_fetch_add(&shared[i], 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&private[cpu][i], 1, __ATOMIC_RELAXED);
    }
  return NULL;
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
  bind_to(0);
  shared = filled();
  for (int i = 0; i < THREADS; ++i)
    private[i] = filled();
  show_all("before");
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, NULL);
  pthread_t thread[THREADS];
  for (size_t i = 0; i < THREADS; ++i)
    if (pthread_create(&thread[i], NULL, access_all, (void *)i))
      abort();
  int number;
  sigwait(&end, &number);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; ++i)
    pthread_join(thread[i], NULL);
  show_all("after");
  return 0;
}
