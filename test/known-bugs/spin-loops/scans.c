// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Known bug: a loop that gets on by itself, adding to a sum from iteration to
// iteration, is reported, in doubt.
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | FileCheck %s --allow-empty
// CHECK-NOT: warning: loop

#include <sched.h>

extern volatile int ready[8];
void scans_on(int n) {
  int sum = 0;
  // The sum grows from iteration to iteration.
  do {
    sched_yield();
    for (int i = 0; i < n; i++)
      sum += ready[i];
  } while (sum < n);
}
