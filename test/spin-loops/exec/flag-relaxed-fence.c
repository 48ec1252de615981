// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A relaxed poll and a fence behind it.
//
// RUN: %spin_exec

#include <stdatomic.h>

static int threads;
static atomic_short flag;
static void raise_flag(int round) {
  atomic_thread_fence(memory_order_release);
  atomic_store_explicit(&flag, round, memory_order_relaxed);
}
static void await(int round) {
  while (atomic_load_explicit(&flag, memory_order_relaxed) != round) {}
  atomic_thread_fence(memory_order_acquire);
}

#define KIND_FLAG
#include "harness.h"
