// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A poll that yields.
//
// RUN: %spin_exec --tsan clean

#include <sched.h>
#include <stdatomic.h>

static int threads;
static atomic_int flag;
static void raise_flag(int round) { atomic_store(&flag, round); }
static void await(int round) {
  while (atomic_load(&flag) != round)
    sched_yield();
}

#define KIND_FLAG
#include "harness.h"
