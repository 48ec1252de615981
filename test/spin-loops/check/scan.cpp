// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A wait that looks at several objects each iteration: every single read is at an
// address that moves, but starts anew in each iteration. As in PARSEC's raytrace.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c++17 2>&1 | grep '^/' | FileCheck %s

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
