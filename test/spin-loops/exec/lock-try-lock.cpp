// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::mutex::try_lock until it succeeds.
//
// RUN: %spin_exec --tsan clean

#include <mutex>

static int threads;
static std::mutex mutex;
static void lock(int self) {
  (void)self;
  while (!mutex.try_lock()) {}
}
static void unlock(int self) {
  (void)self;
  mutex.unlock();
}

#define KIND_LOCK
#include "harness.h"
