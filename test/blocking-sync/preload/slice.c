// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libvfpthread's mutexes request longer time slices where the kernel has them: its
// sources are built into this program, with a struct rseq of its own.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s %vf_pthread_sources -lpthread -ldl -o %t
// RUN: env VF_SLICE=on %t

#include "check.h"
#include "common/slice.h"
#include "preload/libc.h"
#include "rseq_area.h"
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

static bool enable(void) { return true; }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                       recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;

static void *other(void *arg) {
  pthread_mutex_lock(&mutex);
  CHECK(area.request == 1);
  turn = 1;
  pthread_cond_signal(&cond);
  while (turn != 2)
    pthread_cond_wait(&cond, &mutex);
  CHECK(area.request == 1);
  pthread_mutex_unlock(&mutex);
  CHECK(area.request == 0);
  return arg;
}

int main(void) {
  pthread_t thread;
  struct timespec past = {0, 0};
  vf_slice_find(area_at());
  vf_slice_kernel = (struct vf_slice_kernel){enable, yield};
  // As if libc had registered it: decided again.
  vf_libc_mode = 0;

  pthread_mutex_lock(&mutex);
  CHECK(area.request == 1);
  pthread_mutex_lock(&inner);
  CHECK(pthread_mutex_lock(&inner) == EDEADLK);
  pthread_mutex_unlock(&inner);
  CHECK(area.request == 1);
  area.request = 0; // Granted.
  area.granted = 1;
  pthread_mutex_unlock(&mutex);
  CHECK(area.request == 0 && area.granted == 0 && yielded == 1);

  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&recursive);
  pthread_mutex_unlock(&recursive);
  CHECK(area.request == 1);
  pthread_mutex_unlock(&recursive);
  CHECK(area.request == 0 && pthread_mutex_unlock(&recursive) == EPERM);
  CHECK(pthread_mutex_trylock(&mutex) == 0 && area.request == 1);

  // What a thread releases to wait for a condition, it does not hold.
  CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
  while (turn != 1)
    pthread_cond_wait(&cond, &mutex);
  CHECK(area.request == 1);
  CHECK(pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT && area.request == 1);
  turn = 2;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&mutex);
  CHECK(area.request == 0 && yielded == 1);
  pthread_join(thread, NULL);
  return 0;
}
