// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sense-reversing barrier.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
static int threads;
static atomic_int arrived, sense;
static _Thread_local int mine;
static void barrier(int self) {
  (void)self;
  mine = !mine;
  if (atomic_fetch_add(&arrived, 1) == threads - 1) {
    atomic_store(&arrived, 0);
    atomic_store_explicit(&sense, mine, memory_order_release);
    return;
  }
  while (atomic_load_explicit(&sense, memory_order_acquire) != mine) {}
}

#define KIND_BARRIER
#include "harness.h"
