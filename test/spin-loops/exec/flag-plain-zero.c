// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form LLVM deletes in C too: `== 0`, by a word for each iteration.
//
// RUN: %spin_exec

static int threads;
static int raised[201];
static void raise_flag(int round) { raised[round] = 1; }
static void await(int round) {
  while (raised[round] == 0) {}
}

#define KIND_FLAG
#include "harness.h"
