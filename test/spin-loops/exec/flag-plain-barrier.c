// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plain flag behind a compiler barrier: ThreadSanitizer still sees its race.
//
// RUN: %spin_exec --tsan race

static int threads;
static int flag;
static void raise_flag(int round) { flag = round; }
static void await(int round) {
  while (flag != round)
    __asm__ volatile("" ::: "memory");
}

#define KIND_FLAG
#include "harness.h"
