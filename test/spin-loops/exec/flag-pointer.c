// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pointer is published, and its memory with it.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static int numbers[201];
static int *_Atomic published;
static void raise_flag(int round) {
  numbers[round] = round;
  atomic_store_explicit(&published, &numbers[round], memory_order_release);
}
static void await(int round) {
  int *p;
  while ((p = atomic_load_explicit(&published, memory_order_acquire)) !=
         &numbers[round]) {}
  if (*p != round)
    __builtin_trap();
}

#define KIND_FLAG
#include "harness.h"
