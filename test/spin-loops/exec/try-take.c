// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool with one token is a lock. A try to take it has effects only if it
// succeeds.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
#include <stdbool.h>

static int threads;
static atomic_int tokens = 1;
static int taken; // Of the holder.
static bool take(int *count) {
  int n = atomic_load_explicit(&tokens, memory_order_relaxed);
  if (n == 0 || !atomic_compare_exchange_strong_explicit(
                    &tokens, &n, 0, memory_order_acquire, memory_order_relaxed))
    return false;
  ++*count;
  return true;
}
static void lock(int self) {
  (void)self;
  while (!take(&taken))
    ;
}
static void unlock(int self) {
  (void)self;
  atomic_store_explicit(&tokens, 1, memory_order_release);
}

#define KIND_LOCK
#include "harness.h"
