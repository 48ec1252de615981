// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded spin that looks at several words: a consumer compares the two ends of a
// queue before it blocks, while other words that it reads change all the time. What is
// counted at the end of the bound is exactly the bound.
//
// RUN: %spin_exec --tsan clean

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int threads;
static atomic_int head, tail, noise;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void raise_flag(int round) {
  pthread_mutex_lock(&mutex);
  atomic_store(&head, round);
  atomic_store(&tail, round);
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutex);
}
/* Nobody sets noise to 1. */
static int spin(int round, int tries) {
  int i;
  for (i = 0; i < tries; ++i)
    if ((atomic_load(&head) == round) & (atomic_load_explicit(&tail, memory_order_acquire) == round) |
        (atomic_load_explicit(&noise, memory_order_relaxed) == 1))
      break;
  return i;
}
static void await(int round) {
  atomic_fetch_add_explicit(&noise, 2, memory_order_relaxed);
  if (spin(-1, 30000) != 30000)
    abort();
  if (spin(round, 40000) < 40000)
    return;
  pthread_mutex_lock(&mutex);
  while (atomic_load(&tail) != round)
    pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
}

#define KIND_FLAG
#include "harness.h"
