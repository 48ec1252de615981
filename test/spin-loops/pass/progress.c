// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits that call functions for progress by pointers, and yield if there was
// none, as message-passing libraries do. They are reported in doubt.
//
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

// Not a wait: what it calls tells nothing.
void (*others[4])(void);
static void work(int tired) {
  for (int i = 0; i < number; i++)
    others[i]();
  if (tired <= 0)
    sched_yield();
}
void work_until(atomic_int *done) {
  for (int left = 100; !atomic_load(done); left--)
    work(left % 10);
}
