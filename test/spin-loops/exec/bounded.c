// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded spin in front of a blocking call keeps its bound.
//
// RUN: %spin_exec --tsan clean --kept

#include <pthread.h>
#include <stdatomic.h>

#ifndef TRIES
#define TRIES 100
#endif

static int threads;
static atomic_int flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void raise_flag(int round) {
  pthread_mutex_lock(&mutex);
  atomic_store(&flag, round);
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutex);
}
static void await(int round) {
  for (int i = 0; i < TRIES; ++i)
    if (atomic_load(&flag) == round)
      return;
  pthread_mutex_lock(&mutex);
  while (atomic_load(&flag) != round)
    pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
}

#define KIND_FLAG
#include "harness.h"
