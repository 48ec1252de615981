/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * hosted MEGABYTES: two threads, on vCPU 0 and 1, access one range together
 * and another each alone, all filled by vCPU 0, until SIGTERM. The VMM is
 * asked before and after it: see mark.h. */

#define _GNU_SOURCE
#include "mark.h"
#include "stay_on.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS = 2, PAGE = 4096, HUGE_PAGE = 2 << 20, STAMP = 512 };
static size_t size;
static char *shared, *private[THREADS];
static int stop;

/* The stamps tell whether a page was lost or exchanged for another. */
static char *filled(int advice) {
  char *memory = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  memory =
      (char *)(((uintptr_t)memory + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE);
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

/* Complete passes over all memory. */
static void *access_all(void *number) {
  int cpu = (int)(size_t)number;
  stay_on(cpu);
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
    for (size_t at = 0; at < size; at += PAGE) {
      __atomic_fetch_add((unsigned long *)(shared + at), 1, __ATOMIC_RELAXED);
      __atomic_fetch_add((unsigned long *)(private[cpu] + at), 1,
                         __ATOMIC_RELAXED);
    }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  size = strtoul(argv[1], NULL, 10) << 20;
  stay_on(0);
  shared = filled(0);
  private[0] = filled(0);
  private[1] = filled(MADV_HUGEPAGE);
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, NULL);
  pthread_t thread[THREADS];
  for (size_t i = 0; i < THREADS; ++i)
    if (pthread_create(&thread[i], NULL, access_all, (void *)i))
      abort();
  mark(1);
  int number;
  sigwait(&end, &number);
  mark(2);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < THREADS; ++i)
    pthread_join(thread[i], NULL);
  printf("{\"case\": \"placed\", \"wrong\": %zu}\n",
         wrong(shared) + wrong(private[0]) + wrong(private[1]));
  fflush(stdout);
  return 0;
}
