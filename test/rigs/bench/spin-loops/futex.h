/*===- futex.h - Spin for a while, then sleep, written by hand -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The peer that a careful programmer writes: a bounded spin, then FUTEX_WAIT on
 * the polled word itself; a count of waiters saves the wake nobody needs.
 *===----------------------------------------------------------------------===*/

#ifndef FUTEX_H
#define FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FUTEX_ANY FUTEX_BITSET_MATCH_ANY

/* Polls before sleeping. No constant suits both ends: measured on 2 vCPUs, the
 * barrier wants 1000 with one thread a CPU (0.1 us a round; 6 us with 100) and
 * none with four (23 us; 53 us with 100, 128 us with 1000). */
#define FUTEX_SPINS 100

/* pre: word is a naturally aligned int. Sleeps while it holds seen; may return
 * early, so the caller tests again. */
static inline void futex_sleep(volatile void *word, int seen,
                               atomic_uint *waiters, unsigned bits) {
  atomic_fetch_add(waiters, 1);
  syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, NULL, NULL, bits);
  atomic_fetch_sub(waiters, 1);
}

/* pre: word is a naturally aligned int. Returns when it may hold something else
 * than seen; the caller tests again. */
static inline void futex_relax(volatile void *word, int seen,
                               atomic_uint *waiters, unsigned bits) {
  for (int i = 0; i < FUTEX_SPINS; i++) {
    if (*(volatile int *)word != seen)
      return;
    CPU_PAUSE();
  }
  futex_sleep(word, seen, waiters, bits);
}

/* Call after the store. The fence orders that store before the count is read;
 * the waiter's count goes up before the kernel reads the word again. */
static inline void futex_wake(volatile void *word, atomic_uint *waiters,
                              int count, unsigned bits) {
  atomic_thread_fence(memory_order_seq_cst);
  if (atomic_load_explicit(waiters, memory_order_relaxed))
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, count, NULL, NULL,
            bits);
}

#endif /* FUTEX_H */
