// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier that counts up and never resets.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
static int threads;
static atomic_uint arrived;
static void barrier(int self) {
  (void)self;
  unsigned goal = (atomic_fetch_add(&arrived, 1) / threads + 1) * threads;
  while ((int)(atomic_load_explicit(&arrived, memory_order_acquire) - goal) < 0) {}
}

#define KIND_BARRIER
#include "harness.h"
