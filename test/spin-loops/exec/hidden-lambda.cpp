// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The condition is a lambda handed to a template.
//
// RUN: %spin_exec --tsan clean

#include <atomic>

static int threads;
static std::atomic<unsigned> word;
template <typename F> static void spinUntil(F Done) {
  while (!Done()) {}
}
static void raise_flag(int round) { word.store(round, std::memory_order_release); }
static void await(int round) {
  spinUntil([=] { return word.load(std::memory_order_acquire) == unsigned(round); });
}

#define KIND_FLAG
#include "harness.h"
