// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A queue lock: each waiter polls its own node.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
#include <stddef.h>

static int threads;
struct node {
  struct node *_Atomic next;
  atomic_int waiting;
};
static struct node nodes[8];
static struct node *_Atomic tail;
static void lock(int self) {
  struct node *mine = &nodes[self];
  atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
  atomic_store_explicit(&mine->waiting, 1, memory_order_relaxed);
  struct node *before = atomic_exchange(&tail, mine);
  if (!before)
    return;
  atomic_store_explicit(&before->next, mine, memory_order_release);
  while (atomic_load_explicit(&mine->waiting, memory_order_acquire)) {}
}
static void unlock(int self) {
  struct node *mine = &nodes[self], *next = atomic_load(&mine->next);
  if (!next) {
    struct node *expected = mine;
    if (atomic_compare_exchange_strong(&tail, &expected, NULL))
      return;
    while (!(next = atomic_load_explicit(&mine->next, memory_order_acquire))) {}
  }
  atomic_store_explicit(&next->waiting, 0, memory_order_release);
}

#define KIND_LOCK
#include "harness.h"
