// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiters that never return from their wait, by asynchronous cancellation and by
// longjmp out of a handler, leave nothing behind that one notify doesn't clear.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

static uint32_t flag;
static sigjmp_buf out;

static uint32_t armed(void) {
  return __atomic_load_n(&vf_spin_armed, __ATOMIC_RELAXED);
}

static void *waiter(void *arg) {
  (void)arg;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  wait_while(&flag, 0, 4 | VF_SPIN_NOTIFIED);
  return NULL;
}

static void *jumper(void *arg) {
  if (sigsetjmp(out, 1) == 0)
    waiter(arg);
  return NULL;
}

static void handler(int signal) {
  (void)signal;
  siglongjmp(out, 1);
}

static pthread_t start_blocked(void *(*body)(void *)) {
  pthread_t thread;
  CHECK(armed() == 0);
  CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
  while (armed() == 0)
    sleep_ms(1);
  sleep_ms(2);
  return thread;
}

int main(void) {
  for (int i = 0; i < 10; ++i) {
    void *result;
    pthread_t thread = start_blocked(waiter);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    CHECK(result == PTHREAD_CANCELED);
    CHECK(armed() == 1);
    vf_spin_notify(&flag);
  }
  signal(SIGUSR1, handler);
  for (int i = 0; i < 10; ++i) {
    pthread_t thread = start_blocked(jumper);
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    vf_spin_notify(&flag);
  }
  /* The next waiter blocks and is woken as the first would have been. */
  pthread_t thread = start_blocked(waiter);
  set_flag(&flag, 1);
  pthread_join(thread, NULL);
  CHECK(armed() == 0);
}
