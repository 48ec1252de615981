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

void wait_until_done(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'done'
  while (!atomic_load(&done))
    back_off(8);
}
