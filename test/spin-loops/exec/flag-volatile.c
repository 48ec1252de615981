// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A volatile flag; orders volatile payloads, on x86 in hardware as well.
//
// RUN: %spin_exec

#define PAYLOAD volatile

static int threads;
static volatile int flag;
static void raise_flag(int round) { flag = round; }
static void await(int round) {
  while (flag != round) {}
}

#define KIND_FLAG
#include "harness.h"
