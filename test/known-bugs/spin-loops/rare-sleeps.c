// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: a wait on a volatile variable that yields, and sleeps once in 2,000 polls, is taken for
// one that sleeps between all polls.
//
// XFAIL: *
// RUN: %vf_clang -O2 -g -w -Rpass=vf-spin-loops -Rpass-missed=vf-spin-loops -c %s -o %t.o 2>&1 | FileCheck %s

#include <sched.h>
#include <time.h>

volatile int turn;
void wait_turn(int me) {
  int spins = 0;
  // CHECK: :[[@LINE+1]]:3: remark: {{.*}}now wait
  while (turn != me) {
    if (++spins >= 2000) {
      struct timespec nap = {0, 100000};
      nanosleep(&nap, NULL);
      spins = 0;
    } else {
      sched_yield();
    }
  }
}
