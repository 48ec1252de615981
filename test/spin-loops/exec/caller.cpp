// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same in C++, by a member, with the result unused.
//
// RUN: %spin_exec

static int threads;
struct Gate {
  int Open = 0;
  __attribute__((noinline)) int pass(int Round) const {
    int Seen;
    while ((Seen = Open) < Round) {}
    return Seen;
  }
};
static Gate gate;
static void raise_flag(int round) { gate.Open = round; }
static void await(int round) { gate.pass(round); }

#define KIND_FLAG
#include "harness.h"
