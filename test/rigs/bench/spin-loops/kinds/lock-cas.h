/*===- lock-cas.h - while (!CAS(&lock, 0, 1)); ---------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Compare-and-swap with the builtins from before C11.
 *===----------------------------------------------------------------------===*/

struct lock {
  volatile int held;
  WAITER_COUNT
};

static inline void lock_init(struct lock *l) { l->held = 0; }

static inline void lock_acquire(struct lock *l, int self) {
  (void)self;
  while (!__sync_bool_compare_and_swap(&l->held, 0, 1))
    RELAX(l, held, 1);
}

static inline void lock_release(struct lock *l, int self) {
  (void)self;
  __sync_lock_release(&l->held);
  WAKE_ONE(l, held);
}
