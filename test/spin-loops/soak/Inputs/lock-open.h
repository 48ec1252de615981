/*===- Inputs/lock-open.h - A lock that excludes nobody ------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * For the soak's test of itself: it polls a word that is never set.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

struct lock {
  atomic_int never;
};

static inline void lock_init(struct lock *l) { atomic_init(&l->never, 0); }

static inline void lock_acquire(struct lock *l, int self) {
  (void)self;
  while (atomic_load_explicit(&l->never, memory_order_acquire))
    ;
}

static inline void lock_release(struct lock *l, int self) {
  (void)l, (void)self;
}
