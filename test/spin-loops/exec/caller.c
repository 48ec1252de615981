// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The call of a function that does nothing but wait is not deleted.
//
// RUN: %spin_exec

static int threads;
static int flag;
static void raise_flag(int round) { flag = round; }
/* Without stores, and in a loop LLVM could think ends: pure, but for the wait. */
__attribute__((noinline)) static void wait_in_callee(int round) {
  while (flag < round) {}
}
__attribute__((noinline)) static void calls_it(int round) { wait_in_callee(round); }
static void await(int round) { calls_it(round); }

#define KIND_FLAG
#include "harness.h"
