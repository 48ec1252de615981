// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The check misses a wait that looks at several objects each round: every single
// read is at an address that moves, so the loop counts as a walk over data.
// Seen in PARSEC's raytrace (RTThread.cxx).
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s
// XFAIL: *

#include <atomic>
#include <sched.h>

std::atomic<int> suspended[8];
void wait_for_all() {
  int n;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'suspended
  do {
    sched_yield();
    n = 0;
    for (int i = 0; i < 8; i++)
      n += suspended[i];
  } while (n != 8);
}
