/*===- lock.c - Threads take turns at two counters -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A round is one lock and unlock in every thread. The counters are plain memory
 * and equal whenever the lock excludes and publishes.
 *
 * With HOLDER_SLEEPS_EVERY=N one critical section in N falls asleep, as a holder
 * that faults or writes to a file does: the soak makes all others wait for it
 * again and again.
 *===----------------------------------------------------------------------===*/

#include "harness.h"
#include "waiting.h"
#include <time.h>
#ifdef WAIT_PTHREAD
#include "peers/lock.h"
#else
#include KIND
#endif

static inline void maybe_sleep(long section) {
#ifdef HOLDER_SLEEPS_EVERY
  /* Longer than a waiter polls before it gives up its CPU. */
  if (section % HOLDER_SLEEPS_EVERY == 0)
    nanosleep(&(struct timespec){.tv_nsec = 500 * 1000}, NULL);
#else
  (void)section;
#endif
}

static OWN_LINE struct lock guard;
static OWN_LINE long first;
static OWN_LINE long second;

void workload_prepare(int threads) {
  lock_init(&guard);
  lock_acquire(&guard, threads);
}

void workload_open(int threads) { lock_release(&guard, threads); }

long workload_run(int self, int threads, long rounds) {
  long mismatches = 0;
  for (long round = 0; round < rounds; round++) {
    lock_acquire(&guard, self);
    if (first != second)
      mismatches++;
    first++;
    maybe_sleep(round * threads + self);
    second++;
    lock_release(&guard, self);
  }
  return mismatches;
}

long workload_verify(int threads, long rounds) {
  return (first != threads * rounds) + (second != threads * rounds);
}
