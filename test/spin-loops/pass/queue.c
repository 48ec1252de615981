// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queue locks: each waiter polls a word in its own or its predecessor's node.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>
#include <stddef.h>

struct mcs_node {
  struct mcs_node *_Atomic next;
  atomic_int locked;
};
typedef struct mcs_node *_Atomic mcs_lock;

void mcs_acquire(mcs_lock *lock, struct mcs_node *mine) {
  atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&mine->locked, 1, memory_order_relaxed);
  struct mcs_node *before =
      atomic_exchange_explicit(lock, mine, memory_order_acq_rel);
  if (!before)
    return;
  atomic_store_explicit(&before->next, mine, memory_order_release);
  // expected-remark-re@+1 {{(queue lock) on atomic memory {{.*}}wait in the runtime [}}
  while (atomic_load_explicit(&mine->locked, memory_order_acquire)) {}
}

void mcs_release(mcs_lock *lock, struct mcs_node *mine) {
  struct mcs_node *next = atomic_load(&mine->next);
  if (!next) {
    struct mcs_node *expected = mine;
    if (atomic_compare_exchange_strong(lock, &expected, NULL))
      return;
    // The successor is about to enter itself.
    // expected-remark-re@+1 {{on atomic memory {{.*}}wait in the runtime [}}
    while (!(next = atomic_load_explicit(&mine->next, memory_order_acquire))) {}
  }
  atomic_store_explicit(&next->locked, 0, memory_order_release);
}

struct clh_node {
  volatile int locked;
};
struct clh_node *clh_tail;

struct clh_node *clh_acquire(struct clh_node *mine) {
  mine->locked = 1;
  struct clh_node *before =
      __atomic_exchange_n(&clh_tail, mine, __ATOMIC_ACQ_REL);
  // expected-remark-re@+1 {{(queue lock) on volatile memory {{.*}}wait in the runtime [}}
  while (before->locked) {}
  return before;
}

void clh_release(struct clh_node *mine) { mine->locked = 0; }

void mcs_with_node_on_stack(mcs_lock *lock, int *data) {
  struct mcs_node mine = {NULL, 1};
  struct mcs_node *before = atomic_exchange(lock, &mine);
  if (before) {
    atomic_store(&before->next, &mine);
    // expected-remark-re@+1 {{(queue lock) on atomic memory {{.*}}wait in the runtime [}}
    while (atomic_load(&mine.locked)) {}
  }
  ++*data;
}

// Why not: the node is known to nobody else, so nobody can end this.
int not_published(void) {
  struct mcs_node mine = {NULL, 1};
  int rounds = 0;
  while (atomic_load(&mine.locked) && rounds < 10)
    ++rounds;
  return rounds;
}

// Why not: it goes along the queue; each iteration is a step.
int not_length(struct mcs_node *n) {
  int length = 0;
  while ((n = atomic_load(&n->next)))
    ++length;
  return length;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
