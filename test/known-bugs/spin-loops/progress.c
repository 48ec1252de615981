// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Known bug: a wait that calls functions for progress by pointers, and yields
// if there was none, is not reported.
//
// XFAIL: *
// RUN: %verify_c %s -o /dev/null

#include <sched.h>
#include <stdatomic.h>

int (*functions[4])(void);
int number;
static void progress(void) {
  int events = 0;
  for (int i = 0; i < number; i++)
    events += functions[i]();
  if (events <= 0)
    sched_yield();
}
void wait_for(atomic_int *done) {
  while (!atomic_load(done)) // expected-remark 1+ {{spin loop}}
    progress();
}
