// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A signal handler that waits and notifies, on top of a wait in any phase.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>

static uint32_t flag, handled;

static void handler(int signal) {
  (void)signal;
  int saved = errno;
  uint64_t state = 0;
  /* The same address, a wait of its own, for as long as it takes to block. */
  for (double end = seconds() + 0.003; seconds() < end;)
    state = vf_spin_wait(&flag, 0, state, 4 | VF_SPIN_NOTIFIED);
  vf_spin_notify(&flag);
  CHECK(errno == saved);
  __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static void *waiter(void *arg) {
  (void)arg;
  errno = 4711;
  wait_while(&flag, 0, 4 | VF_SPIN_NOTIFIED);
  CHECK(errno == 4711);
  return NULL;
}

int main(void) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, waiter, NULL) == 0);
  for (int i = 0; i < 30; ++i) {
    pthread_kill(thread, SIGUSR1);
    sleep_ms(i % 7);
  }
  set_flag(&flag, 1);
  pthread_join(thread, NULL);
  CHECK(handled > 0);
}
