// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mutex stays one, whatever a page of hints says meanwhile.

#ifndef FLICKERING_H
#define FLICKERING_H

#include "check.h"
#include "vfriendly/mutex.h"
#include <pthread.h>

enum { THREADS = 4, ITERATIONS = 20000 };
static int counter, stop;

static void *count(void *arg) {
  vf_mutex *mutex = arg;
  for (int i = 0; i < ITERATIONS; ++i) {
    vf_mutex_lock(mutex);
    ++counter;
    vf_mutex_unlock(mutex);
  }
  return NULL;
}

/* flicker changes the page until stop is set. */
static void stays_a_lock(vf_mutex *mutex, void *(*flicker)(void *)) {
  pthread_t threads[THREADS], other;
  CHECK(pthread_create(&other, NULL, flicker, NULL) == 0);
  for (int i = 0; i < THREADS; ++i)
    CHECK(pthread_create(&threads[i], NULL, count, mutex) == 0);
  for (int i = 0; i < THREADS; ++i)
    CHECK(pthread_join(threads[i], NULL) == 0);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  CHECK(pthread_join(other, NULL) == 0);
  CHECK(counter == THREADS * ITERATIONS);
}

#endif
