// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Known bug: an event loop, in which other threads decide when it works, is
// reported, in doubt: a flag of its own stands between.
// XFAIL: *
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | FileCheck %s --allow-empty
// CHECK-NOT: warning: loop

extern volatile int flag;
extern int polled;
void report(int n);
void events(int n) {
  // Not once: something else sets it again, by what others do.
  int fresh = 0;
  while (!flag) {
    if (fresh) {
      fresh = 0;
      report(n);
    }
    if (polled)
      fresh = 1;
    __builtin_ia32_pause();
  }
}
