// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock taken by test-and-set.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_flag word = ATOMIC_FLAG_INIT;
static void lock(int self) {
  (void)self;
  while (atomic_flag_test_and_set(&word)) {}
}
static void unlock(int self) {
  (void)self;
  atomic_flag_clear(&word);
}

#define KIND_LOCK
#include "harness.h"
