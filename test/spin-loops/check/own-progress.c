// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that work when others say so, beside waits that differ in a variable only.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

extern volatile int flag;
extern int polled;
void report(int n);

// An event loop: a flag of its own stands between what others do and its work. Something sets it again.
void events(int n) {
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
// A wait that reports once.
void reports_once(int n) {
  int said = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'flag'
  while (!flag) {
    if (!said) {
      said = 1;
      report(n);
    }
    __builtin_ia32_pause();
  }
}
