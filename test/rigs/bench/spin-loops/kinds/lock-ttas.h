/*===- lock-ttas.h - Test-and-test-and-set lock --------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Polls with loads and writes only when the lock looks free.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

struct lock {
  atomic_int held;
  WAITER_COUNT
};

static inline void lock_init(struct lock *l) { atomic_init(&l->held, 0); }

static inline void lock_acquire(struct lock *l, int self) {
  (void)self;
  for (;;) {
    while (atomic_load_explicit(&l->held, memory_order_relaxed))
      RELAX(l, held, 1);
    if (!atomic_exchange_explicit(&l->held, 1, memory_order_acquire))
      return;
  }
}

static inline void lock_release(struct lock *l, int self) {
  (void)self;
  atomic_store_explicit(&l->held, 0, memory_order_release);
  WAKE_ONE(l, held);
}
