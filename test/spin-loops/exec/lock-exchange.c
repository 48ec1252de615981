// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock taken by exchange.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_int word;
static void lock(int self) {
  (void)self;
  while (atomic_exchange_explicit(&word, 1, memory_order_acquire)) {}
}
static void unlock(int self) {
  (void)self;
  atomic_store_explicit(&word, 0, memory_order_release);
}

#define KIND_LOCK
#include "harness.h"
