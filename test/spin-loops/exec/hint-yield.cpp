// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A poll that yields by the standard library.
//
// RUN: %spin_exec --tsan clean

#include <atomic>
#include <thread>

static int threads;
static std::atomic<int> flag;
static void raise_flag(int round) { flag = round; }
static void await(int round) {
  while (flag.load() != round)
    std::this_thread::yield();
}

#define KIND_FLAG
#include "harness.h"
