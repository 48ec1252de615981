// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// __sync built-ins: a fetch-and-add of zero reads.
//
// RUN: %spin_exec --tsan clean

static int threads;
static long flag;
static void raise_flag(int round) {
  (void)round;
  __sync_fetch_and_add(&flag, 1);
}
static void await(int round) {
  while (__sync_fetch_and_add(&flag, 0) != round) {}
}

#define KIND_FLAG
#include "harness.h"
