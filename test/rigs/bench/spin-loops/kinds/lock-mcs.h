/*===- lock-mcs.h - MCS queue lock ---------------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * Each waiter polls a word of its own, which its predecessor clears. The nodes
 * outlive the threads: a releaser may still look at the node it just freed.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>
#include <stddef.h>

struct OWN_LINE node {
  _Atomic(struct node *) next;
  atomic_int blocked;
  WAITER_COUNT
};

struct lock {
  _Atomic(struct node *) tail;
  struct node nodes[MAX_THREADS + 1];
};

static inline void lock_init(struct lock *l) { atomic_init(&l->tail, NULL); }

static inline void lock_acquire(struct lock *l, int self) {
  struct node *me = &l->nodes[self];
  atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&me->blocked, 1, memory_order_relaxed);
  struct node *before =
      atomic_exchange_explicit(&l->tail, me, memory_order_acq_rel);
  if (!before)
    return;
  atomic_store_explicit(&before->next, me, memory_order_release);
  while (atomic_load_explicit(&me->blocked, memory_order_acquire))
    RELAX(me, blocked, 1);
}

static inline void lock_release(struct lock *l, int self) {
  struct node *me = &l->nodes[self];
  struct node *next = atomic_load_explicit(&me->next, memory_order_acquire);
  if (!next) {
    struct node *expected = me;
    if (atomic_compare_exchange_strong_explicit(&l->tail, &expected, NULL,
                                                memory_order_release,
                                                memory_order_relaxed))
      return;
    /* Someone is between taking the tail and linking itself. */
    while (!(next = atomic_load_explicit(&me->next, memory_order_acquire)))
      RELAX_BRIEFLY();
  }
  atomic_store_explicit(&next->blocked, 0, memory_order_release);
  WAKE_ALL(next, blocked);
}
