// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork while a thread is blocked: the child inherits armed buckets of waiters
// it does not have, and must wait, notify and exit as ever; the parent's waiter
// is woken by the parent.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t flag, child_flag;

static void *waiter(void *arg) {
  (void)arg;
  wait_while(&flag, 0, 4 | VF_SPIN_NOTIFIED);
  return NULL;
}

static void *setter(void *arg) {
  (void)arg;
  sleep_ms(20);
  set_flag(&child_flag, 1);
  return NULL;
}

int main(void) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, waiter, NULL) == 0);
  while (__atomic_load_n(&vf_spin_armed, __ATOMIC_RELAXED) == 0)
    sleep_ms(1);
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      pthread_t helper;
      CHECK(vf_spin_armed == 1);
      set_flag(&flag, 1);
      CHECK(vf_spin_armed == 0);
      CHECK(pthread_create(&helper, NULL, setter, NULL) == 0);
      wait_while(&child_flag, 0, 4 | VF_SPIN_NOTIFIED);
      pthread_join(helper, NULL);
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  CHECK(__atomic_load_n(&flag, __ATOMIC_RELAXED) == 0);
  set_flag(&flag, 1);
  pthread_join(thread, NULL);
}
