// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop written with goto.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_int flag;
static void raise_flag(int round) { atomic_store(&flag, round); }
static void await(int round) {
again:
  if (atomic_load(&flag) != round)
    goto again;
}

#define KIND_FLAG
#include "harness.h"
