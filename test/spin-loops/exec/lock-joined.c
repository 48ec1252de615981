// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Test and test-and-set in one condition.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_int word;
static void lock(int self) {
  (void)self;
  while (atomic_load_explicit(&word, memory_order_relaxed) ||
         atomic_exchange(&word, 1)) {}
}
static void unlock(int self) {
  (void)self;
  atomic_store(&word, 0);
}

#define KIND_LOCK
#include "harness.h"
