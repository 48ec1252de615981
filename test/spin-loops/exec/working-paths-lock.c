// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lock that counts failed attempts in shared memory and waits until it is
// free before each attempt; attempts and waits end with the same test.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_int word, attempts, closed;
static void lock(int self) {
  (void)self;
  do {
    if (!atomic_load(&word)) {
      if (!atomic_exchange(&word, 1))
        return;
      atomic_fetch_add(&attempts, 1);
    }
  } while (!atomic_load(&closed));
}
static void unlock(int self) {
  (void)self;
  atomic_store(&word, 0);
}

#define KIND_LOCK
#include "harness.h"
