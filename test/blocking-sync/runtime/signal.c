// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// vf_sem_post and vf_event_set in a handler that interrupts the same thread anywhere,
// in a wait on the same object too.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "validate.h"
#include <signal.h>
#include <sys/time.h>

static vf_sem s = VF_SEM_INIT(0);
static vf_event e = VF_EVENT_INIT;
static long posted;

static void give(int number) {
  (void)number;
  vf_sem_post(&s);
  vf_event_set(&e);
  ++posted;
}

int main(void) {
  struct sigaction action = {.sa_handler = give};
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  struct itimerval every = {{0, 200}, {0, 200}};
  CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
  for (int i = 0; i < 2000; ++i) {
    CHECK(vf_sem_wait(&s) == 0);
    CHECK(vf_event_wait(&e) == 0);
    vf_event_reset(&e);
  }
  every = (struct itimerval){{0, 0}, {0, 0}};
  CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
  CHECK(posted >= 2000);
  return 0;
}
