// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A poll decided by a switch.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>

static int threads;
static atomic_int parity = 2;
static void raise_flag(int round) { atomic_store(&parity, round % 2); }
static void await(int round) {
  for (;;) {
    switch (atomic_load(&parity)) {
    case 0:
      if (round % 2 == 0)
        return;
      break;
    case 1:
      if (round % 2 == 1)
        return;
      break;
    default:
      break;
    }
  }
}

#define KIND_FLAG
#include "harness.h"
