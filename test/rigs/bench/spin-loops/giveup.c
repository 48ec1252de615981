/*===- giveup.c - Waits that nobody ends ----------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A round is one bounded wait in each thread, for a flag that is raised only
 * after the clock has stopped: the time to give up. The gate, which the threads
 * sleep at until the clock starts, is a mutex, for no bound would hold there.
 *===----------------------------------------------------------------------===*/

#include "harness.h"
#include KIND
#include <pthread.h>

static struct OWN_LINE station {
  struct flag flag;
} stations[MAX_THREADS];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

void workload_prepare(int threads) {
  for (int i = 0; i < threads; i++)
    flag_init(&stations[i].flag);
  pthread_mutex_lock(&gate);
}

void workload_open(int threads) {
  (void)threads;
  pthread_mutex_unlock(&gate);
}

long workload_run(int self, int threads, long rounds) {
  (void)threads;
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  long mismatches = 0;
  for (long round = 0; round < rounds; round++)
    mismatches += flag_try(&stations[self].flag) != TRIES;
  return mismatches;
}

/* A raised flag ends the wait at once. The writer is here for the pass, too: a
 * word that nothing writes would not be waited for. */
long workload_verify(int threads, long rounds) {
  (void)rounds;
  long mismatches = 0;
  for (int i = 0; i < threads; i++) {
    flag_raise(&stations[i].flag);
    mismatches += flag_try(&stations[i].flag) != 0;
  }
  return mismatches;
}
