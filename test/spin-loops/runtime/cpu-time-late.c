// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A timer of CPU time that is set where notifies have ended all sleeps before: the next wait
// sleeps without a look for timers. It must look after that sleep, as the timer's handler ends
// it, and the timer runs only while the wait does.
//
// TIMED: a second of sleeps, and 20 ms of CPU time, within 60 s
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "check.h"
#include "vfriendly/spin_wait.h"
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

// More than the eight in a row after which notifies are trusted.
enum { NOTIFIES = 40, MS = 20, SECONDS = 60 };

static int number;

static void *notify(void *unused) {
  for (int i = 1; i <= NOTIFIES; ++i) {
    sleep_ms(MS);
    __atomic_store_n(&number, i, __ATOMIC_RELEASE);
    vf_spin_notify_if_waiting(&number);
  }
  return unused;
}

static void on_signal(int unused) {
  (void)unused;
  __atomic_store_n(&number, NOTIFIES + 1, __ATOMIC_RELEASE);
}

static void wait_for(int next) {
  uint64_t state = 0;
  int last;
  while ((last = __atomic_load_n(&number, __ATOMIC_ACQUIRE)) < next)
    state = vf_spin_wait(&number, (uint64_t)last, state, sizeof number | VF_SPIN_NOTIFIED);
}

int main(void) {
  alarm(SECONDS);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, notify, NULL) == 0);
  for (int i = 1; i <= NOTIFIES; ++i)
    wait_for(i);
  CHECK(pthread_join(thread, NULL) == 0);
  struct itimerval timer = {{0, 0}, {0, MS * 1000}};
  signal(SIGVTALRM, on_signal);
  CHECK(setitimer(ITIMER_VIRTUAL, &timer, NULL) == 0);
  wait_for(NOTIFIES + 1);
  return 0;
}
