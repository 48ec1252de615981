// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A poll that sleeps is left as it is, and works as before.
//
// RUN: %spin_exec --tsan clean --kept

#include <stdatomic.h>
#include <unistd.h>

static int threads;
static atomic_int flag;
static void raise_flag(int round) { atomic_store(&flag, round); }
static void await(int round) {
  while (atomic_load(&flag) != round)
    usleep(50);
}

#define KIND_FLAG
#include "harness.h"
