// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock taken by __sync built-ins.
//
// RUN: %spin_exec --tsan clean

static int threads;
static int word;
static void lock(int self) {
  (void)self;
  while (!__sync_bool_compare_and_swap(&word, 0, 1)) {}
}
static void unlock(int self) {
  (void)self;
  __sync_lock_release(&word);
}

#define KIND_LOCK
#include "harness.h"
