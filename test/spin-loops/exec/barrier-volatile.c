// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A barrier with a volatile generation, as written before C11.
//
// RUN: %spin_exec

#define PAYLOAD volatile
static int threads;
static volatile int arrived, generation;
static void barrier(int self) {
  int mine = generation;
  (void)self;
  if (__sync_add_and_fetch(&arrived, 1) == threads) {
    arrived = 0;
    __sync_synchronize();
    generation = mine + 1;
  } else {
    while (generation == mine) {}
    __sync_synchronize();
  }
}

#define KIND_BARRIER
#include "harness.h"
