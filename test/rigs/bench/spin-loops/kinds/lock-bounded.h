/*===- lock-bounded.h - Tries TRIES times, then a futex -------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Test-and-test-and-set for TRIES iterations, then the three-state mutex on a
 * futex: 0 free, 1 held, 2 held and a waiter may sleep.
 *===----------------------------------------------------------------------===*/

#include "futex.h"

struct lock {
  atomic_int held;
  atomic_uint sleepers;
  WAITER_COUNT
};

static inline void lock_init(struct lock *l) {
  atomic_init(&l->held, 0);
  atomic_init(&l->sleepers, 0);
}

static inline void lock_acquire(struct lock *l, int self) {
  (void)self;
  for (int i = 0; i < TRIES; i++) {
    int seen = atomic_load_explicit(&l->held, memory_order_relaxed);
    if (seen == 0 &&
        atomic_compare_exchange_strong_explicit(
            &l->held, &seen, 1, memory_order_acquire, memory_order_relaxed))
      return;
    RELAX(l, held, seen);
  }
  while (atomic_exchange_explicit(&l->held, 2, memory_order_acquire))
    futex_sleep(&l->held, 2, &l->sleepers, FUTEX_ANY);
}

static inline void lock_release(struct lock *l, int self) {
  (void)self;
  atomic_store_explicit(&l->held, 0, memory_order_release);
  WAKE_ONE(l, held);
  futex_wake(&l->held, &l->sleepers, 1, FUTEX_ANY);
}
