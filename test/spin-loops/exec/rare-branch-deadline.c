// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Polls until a deadline, then blocks on a condition variable, in one flat loop. It
// never blocks before the deadline.
//
// At -Os for AArch64, the loop has another form, in which nothing is rewritten; a short run may
// leave that level out.
// UNSUPPORTED: host-aarch64
// RUN: %spin_exec --tsan clean

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

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
static long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}
static void block(int round) {
  pthread_mutex_lock(&mutex);
  if (atomic_load(&flag) != round)
    pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
}
static void await(int round) {
  long limit = round % 3 ? 50000 : 200000, start = now();
  while (atomic_load(&flag) != round) {
    if (now() - start > limit) {
      if (now() - start <= limit)
        abort();
      block(round);
      start = now();
    }
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
  }
}

#define KIND_FLAG
#include "harness.h"
