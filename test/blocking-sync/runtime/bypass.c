// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nobody is passed over for ever: while two threads take and release a lock without
// pause, a third gets it again and again.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "validate.h"

static vf_mutex m = VF_MUTEX_INIT;
static bool stop;

static void *hog(void *arg) {
  (void)arg;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    vf_mutex_lock(&m);
    work(2000);
    vf_mutex_unlock(&m);
  }
  return NULL;
}

int main(void) {
  enum { HOGS = 4, TURNS = 200 };
  pthread_t ids[HOGS];
  for (int i = 0; i < HOGS; ++i)
    CHECK(pthread_create(&ids[i], NULL, hog, NULL) == 0);
  double begin = seconds();
  for (int i = 0; i < TURNS; ++i) {
    vf_mutex_lock(&m);
    vf_mutex_unlock(&m);
    sleep_ms(1);
  }
  /* At 1 ms each it takes a second; without the bound it takes what luck it has.
   * A minute is no bound on speed, but on being starved. */
  CHECK(seconds() - begin < 60);
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < HOGS; ++i)
    pthread_join(ids[i], NULL);
  return 0;
}
