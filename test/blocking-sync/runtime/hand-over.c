// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who waited for a millisecond is handed the lock: the holder that lets go and wants
// it again at once finds it taken, until the waiter has had it.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "validate.h"

#define PARKED 2u /* runtime/blocking-sync/mutex.c */

static vf_mutex m = VF_MUTEX_INIT;
static bool had_it;

static void *wait_for_it(void *arg) {
  (void)arg;
  vf_mutex_lock(&m);
  had_it = true;
  vf_mutex_unlock(&m);
  return NULL;
}

int main(void) {
  for (int i = 0; i < 100; ++i) {
    pthread_t id;
    vf_mutex_lock(&m);
    had_it = false;
    CHECK(pthread_create(&id, NULL, wait_for_it, NULL) == 0);
    while (!(__atomic_load_n(&m.word_, __ATOMIC_RELAXED) & PARKED))
      sleep_ms(1); /* On a busy machine it takes its time. */
    sleep_ms(5);
    vf_mutex_unlock(&m);
    while (vf_mutex_trylock(&m) != 0)
      ;
    CHECK(had_it);
    vf_mutex_unlock(&m);
    pthread_join(id, NULL);
  }
  return 0;
}
