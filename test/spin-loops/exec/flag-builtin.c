// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// __atomic built-ins on a byte.
//
// RUN: %spin_exec --tsan clean

static int threads;
static unsigned char flag;
static void raise_flag(int round) {
  __atomic_store_n(&flag, (unsigned char)round, __ATOMIC_RELEASE);
}
static void await(int round) {
  while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != (unsigned char)round) {}
}

#define KIND_FLAG
#include "harness.h"
