// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// std::atomic, polled by its conversion.
//
// RUN: %spin_exec --tsan clean

#include <atomic>

static int threads;
static std::atomic<int> flag;
static void raise_flag(int round) { flag = round; }
static void await(int round) {
  while (flag != round) {}
}

#define KIND_FLAG
#include "harness.h"
