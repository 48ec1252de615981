/*===- lock.c - Threads take turns at two counters -----------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * A round is one lock and unlock in every thread. The counters are plain memory
 * and equal whenever the lock excludes and publishes.
 *
 * Thread 0 falls asleep in its first critical section, as a holder that faults
 * or writes to a file does. Without it the threads of a short run mostly pass
 * one after the other, and whether a queue ever forms (which a fair lock then
 * keeps to the end) is luck: 0.2 or 130 us a round in the same cell. In the
 * soak all threads do so now and then.
 *===----------------------------------------------------------------------===*/

#include "harness.h"
#include "waiting.h"
#include <time.h>
#ifdef WAIT_PTHREAD
#include "peers/lock.h"
#else
#include KIND
#endif

#ifndef HOLDER_SLEEPS_EVERY
#define HOLDER_SLEEPS_EVERY 0x7fffffff /* thread 0's first only */
#endif

static void sleep_as_holder(void) {
  /* Several times what it takes to wake 16 threads from the gate, and at most
   * a hundredth of a measured run. */
  nanosleep(&(struct timespec){.tv_nsec = 500 * 1000}, NULL);
}

static OWN_LINE struct lock guard;
static OWN_LINE long first;
static OWN_LINE long second;

void workload_prepare(int threads, long rounds) {
  (void)threads, (void)rounds;
  lock_init(&guard);
}

long workload_run(int self, int threads, long rounds) {
  long mismatches = 0;
  for (long round = 0; round < rounds; round++) {
    lock_acquire(&guard, self);
    if (first != second)
      mismatches++;
    first++;
    if ((round * threads + self) % HOLDER_SLEEPS_EVERY == 0)
      sleep_as_holder();
    second++;
    lock_release(&guard, self);
  }
  return mismatches;
}

long workload_verify(int threads, long rounds) {
  return (first != threads * rounds) + (second != threads * rounds);
}
