// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pthread_mutex_trylock until it succeeds.
//
// RUN: %spin_exec --tsan clean

#include <pthread.h>

static int threads;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void lock(int self) {
  (void)self;
  while (pthread_mutex_trylock(&mutex)) {}
}
static void unlock(int self) {
  (void)self;
  pthread_mutex_unlock(&mutex);
}

#define KIND_LOCK
#include "harness.h"
