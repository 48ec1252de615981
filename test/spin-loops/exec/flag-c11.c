// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C11 atomic flag.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_int flag;
static void raise_flag(int round) {
  atomic_store_explicit(&flag, round, memory_order_release);
}
static void await(int round) {
  while (atomic_load_explicit(&flag, memory_order_acquire) != round) {}
}

#define KIND_FLAG
#include "harness.h"
