// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A ticket lock.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_uint next, owner;
static void lock(int self) {
  (void)self;
  unsigned mine = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
  while (atomic_load_explicit(&owner, memory_order_acquire) != mine) {}
}
static void unlock(int self) {
  (void)self;
  atomic_fetch_add_explicit(&owner, 1, memory_order_release);
}

#define KIND_LOCK
#include "harness.h"
