// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step of a back-off that calls itself is inlined a few times only: the check ends.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdatomic.h>

extern atomic_int done;

static void back_off(int n) {
  if (n > 0) {
    __builtin_ia32_pause();
    back_off(n - 1);
    back_off(n - 2);
  }
}
static int next_delay(int n) {
  int delay = 1;
  if (n) {
    __builtin_ia32_pause();
    delay = next_delay(n - 1) * next_delay(n - 2) + 1;
  }
  return delay;
}

void wait_until_done(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'done'
  while (!atomic_load(&done))
    back_off(8);
}
// It carries a number from one iteration to the next.
int count_until_done(void) {
  int delay = 0;
  while (!atomic_load(&done))
    delay = next_delay(delay & 7);
  return delay;
}
