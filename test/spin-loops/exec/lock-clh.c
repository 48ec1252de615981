// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A queue lock: each waiter polls its predecessor's node.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
struct node {
  atomic_int locked;
};
static struct node first, nodes[8];
static struct node *_Atomic tail = &first;
static struct node *mine[8], *before[8];
static void lock(int self) {
  if (!mine[self])
    mine[self] = &nodes[self];
  atomic_store_explicit(&mine[self]->locked, 1, memory_order_relaxed);
  before[self] = atomic_exchange(&tail, mine[self]);
  while (atomic_load_explicit(&before[self]->locked, memory_order_acquire)) {}
}
static void unlock(int self) {
  struct node *held = mine[self];
  mine[self] = before[self];
  atomic_store_explicit(&held->locked, 0, memory_order_release);
}

#define KIND_LOCK
#include "harness.h"
