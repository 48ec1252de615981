// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that get on by themselves, or work when others say so, beside waits that differ in a variable only.
//
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <sched.h>

extern volatile int flag, ready[8];
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

// The sum grows from iteration to iteration.
void scans_on(int n) {
  int sum = 0;
  do {
    sched_yield();
    for (int i = 0; i < n; i++)
      sum += ready[i];
  } while (sum < n);
}
// It starts again in each iteration.
void scans_again(int n) {
  int sum;
  // CHECK: :[[@LINE+1]]:3: warning: loop
  do {
    sched_yield();
    sum = 0;
    for (int i = 0; i < n; i++)
      sum += ready[i];
  } while (sum < n);
}
