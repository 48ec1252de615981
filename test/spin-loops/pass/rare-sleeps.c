// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wait that yields many times and then sleeps. It is left, because it has given way already each
// time; the reason is not that it sleeps between its polls. With pauses instead of yields, the polls
// up to the sleep are a wait.
//
// RUN: %verify_c %s -o /dev/null

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

extern volatile int turn;
extern atomic_int gate;

void wait_turn(int me) {
  int spins = 0;
  // expected-remark@+1 {{it sleeps after many polls: wait for an event instead}}
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
void wait_remainder(int me) {
  unsigned spins = 0;
  // expected-remark@+1 {{it sleeps after many polls: wait for an event instead}}
  while (atomic_load(&gate) != me) {
    sched_yield();
    if (++spins % 1000 == 0) {
      struct timespec nap = {0, 100000};
      nanosleep(&nap, NULL);
    }
  }
}
void wait_pausing(int me) {
  int spins = 0;
  // expected-remark@+2 {{now wait in the runtime}}
  // expected-remark@+1 {{link with libvfrt}}
  while (atomic_load(&gate) != me) {
    if (++spins >= 2000) {
      struct timespec nap = {0, 100000};
      nanosleep(&nap, NULL);
      spins = 0;
    } else {
      __builtin_ia32_pause();
    }
  }
}

// Twin: a sleep in each iteration.
void wait_sleeping(int me) {
  // expected-remark@+1 {{it sleeps between polls: wait for an event instead}}
  while (turn != me) {
    struct timespec nap = {0, 100000};
    sched_yield();
    nanosleep(&nap, NULL);
  }
}
// Twin: others decide how often it sleeps.
void wait_by_others(int me) {
  // expected-remark@+1 {{it sleeps between polls: wait for an event instead}}
  while (turn != me) {
    if (atomic_load(&gate)) {
      struct timespec nap = {0, 100000};
      nanosleep(&nap, NULL);
    } else {
      sched_yield();
    }
  }
}
