// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::atomic_flag.
//
// RUN: %spin_exec --tsan clean

#include <atomic>

static int threads;
static std::atomic_flag word = ATOMIC_FLAG_INIT;
static void lock(int self) {
  (void)self;
  while (word.test_and_set(std::memory_order_acquire)) {}
}
static void unlock(int self) {
  (void)self;
  word.clear(std::memory_order_release);
}

#define KIND_LOCK
#include "harness.h"
