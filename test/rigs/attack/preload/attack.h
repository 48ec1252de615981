/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the programs of this folder include. What they print, and their exit status, must be the same with a library as
 * without. */

#ifndef VF_RIGS_ATTACK_H
#define VF_RIGS_ATTACK_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline void ms(int n) {
  struct timespec t = {n / 1000, (n % 1000) * 1000000L};
  while (nanosleep(&t, &t) != 0 && errno == EINTR)
    ;
}

/* Threads beside what is looked at, which allocate under a lock. */
static pthread_mutex_t beside_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t beside[8];
static int besides, beside_ends;

static inline void *allocate(void *unused) {
  for (unsigned i = 1; !__atomic_load_n(&beside_ends, __ATOMIC_RELAXED); ++i) {
    pthread_mutex_lock(&beside_lock);
    char *block = malloc(i * 37 % 5000 + 1);
    pthread_mutex_unlock(&beside_lock);
    *block = 1;
    free(block);
  }
  return unused;
}

static inline void begin_beside(int threads) {
  while (threads-- > 0)
    if (pthread_create(&beside[besides], NULL, allocate, NULL) == 0)
      ++besides;
}

static inline void end_beside(void) {
  __atomic_store_n(&beside_ends, 1, __ATOMIC_RELAXED);
  while (besides > 0)
    pthread_join(beside[--besides], NULL);
  beside_ends = 0;
}

#endif
