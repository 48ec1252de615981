// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// VF_STATS=1 tells of each place that takes a lock how often it had it, how it waited,
// and for how long it held it; the place is one that a symbolizer finds. Without it
// nothing is counted, and the lock is the two instructions it was.
//
// RUN: clang -std=gnu11 -O2 -g -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: env VF_STATS=1 %t 2> %t.json
// RUN: %python %S/../Inputs/sites.py %t.json > %t.sites
// RUN: FileCheck %s --input-file=%t.sites
// RUN: %t 2>&1 | count 0

#include "validate.h"
#include <stdlib.h>

static vf_mutex counted, quiet = VF_MUTEX_INIT;
static vf_mutex *mutex;
static vf_sem sem = VF_SEM_INIT(0);

static void *wait_for_it(void *arg) {
  (void)arg;
  vf_mutex_lock(mutex); // WAITER
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=2 contended=2 spun=0 blocked=2 wakes=0 waited=long held=short
  vf_mutex_unlock(mutex);
  return NULL;
}

static void *wait_for_a_post(void *arg) {
  (void)arg;
  vf_sem_wait(&sem);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=1 spun=0 blocked=1 wakes=0 waited=long held=never
  return NULL;
}

static void hold_up_a_waiter(void) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, wait_for_it, NULL) == 0);
  sleep_ms(60);
  vf_mutex_unlock(mutex);
  pthread_join(id, NULL);
}

int main(void) {
  bool is_on = getenv("VF_STATS") != NULL;
  CHECK(vf_mutex_init(&counted, 0) == 0);
  CHECK((counted.word_ != 0) == is_on);
  mutex = &counted;
  vf_mutex_lock(mutex);
  // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=1 contended=0 spun=0 blocked=0 wakes=1 waited=never held=long
  hold_up_a_waiter();

  // One that is not initialized by a call is counted once a thread had to wait for it.
  mutex = &quiet;
  vf_mutex_lock(mutex);
  CHECK(quiet.word_ == 1);
  hold_up_a_waiter();
  CHECK((quiet.word_ != 0) == is_on);
#pragma clang loop unroll(disable)
  for (int i = 0; i < 3; ++i) {
    CHECK(vf_mutex_trylock(mutex) == 0);
    // CHECK-DAG: sites.c:[[@LINE-1]] acquisitions=3 contended=0 spun=0 blocked=0 wakes=0 waited=never held=short
    vf_mutex_unlock(mutex);
  }

  pthread_t id;
  CHECK(pthread_create(&id, NULL, wait_for_a_post, NULL) == 0);
  sleep_ms(60);
  vf_sem_post(&sem);
  pthread_join(id, NULL);
  return 0;
}
