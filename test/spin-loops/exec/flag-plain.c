// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plain flag: a race as written, and a wait that LLVM deletes without the pass.
//
// RUN: %spin_exec

static int threads;
static int flag;
static void raise_flag(int round) { flag = round; }
static void await(int round) {
  while (flag != round) {}
}

#define KIND_FLAG
#include "harness.h"
