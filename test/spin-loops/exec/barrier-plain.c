// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier with a plain sense: made acquire and release by the pass.
//
// RUN: %spin_exec

static int threads;
static int arrived, sense;
static _Thread_local int mine;
static void barrier(int self) {
  (void)self;
  mine = !mine;
  if (__sync_add_and_fetch(&arrived, 1) == threads) {
    arrived = 0;
    sense = mine;
    return;
  }
  while (sense != mine) {}
}

#define KIND_BARRIER
#include "harness.h"
