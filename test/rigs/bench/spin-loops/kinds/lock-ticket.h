/*===- lock-ticket.h - Ticket lock ---------------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Hands over in the order of arrival, so one descheduled waiter holds up all
 * behind it.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

struct lock {
  atomic_int next, serving;
  WAITER_COUNT
};

static inline void lock_init(struct lock *l) {
  atomic_init(&l->next, 0);
  atomic_init(&l->serving, 0);
}

static inline void lock_acquire(struct lock *l, int self) {
  (void)self;
  int mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);
  int seen;
  while ((seen = atomic_load_explicit(&l->serving, memory_order_acquire)) !=
         mine)
    RELAX_TURN(l, serving, seen, (unsigned)mine);
}

static inline void lock_release(struct lock *l, int self) {
  (void)self;
  int next = atomic_load_explicit(&l->serving, memory_order_relaxed) + 1;
  atomic_store_explicit(&l->serving, next, memory_order_release);
  WAKE_TURN(l, serving, (unsigned)next);
}
