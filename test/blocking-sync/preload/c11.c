// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C11's mutexes, which libc locks by names that cannot be interposed, are ours too, and
// work with its conditions.
//
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: env VF_STATS=1 %vf_preload %t 2>&1 | FileCheck %s
// RUN: env VF_STATS=1 VF_PTHREAD=off %vf_preload %t 2>&1 | FileCheck --check-prefix=OFF %s
// CHECK: "vfpthread": {"spins": {{[1-9]}}
// OFF: "vfpthread": {"spins": 0, "spun": 0, "sleeps": 0, "wakes": 0

#include "workers.h"
#include <stdbool.h>
#include <threads.h>

#define THREADS 8
#define ROUNDS 2000

static mtx_t plain, timed, recursive;
static cnd_t changed;
static long entered, left;
static int turn;

static void visit(mtx_t *mutex, bool locked) {
  CHECK(locked && entered == left);
  ++entered;
  if (entered % 500 == 0)
    thrd_sleep(&(struct timespec){0, 50000}, NULL);
  ++left;
  CHECK(mtx_unlock(mutex) == thrd_success);
}

static int use(void *arg) {
  int number = (int)(long)arg;
  for (int i = 0; i < ROUNDS; ++i) {
    visit(&plain, mtx_lock(&plain) == thrd_success);
    if (mtx_trylock(&plain) == thrd_success)
      visit(&plain, true);
    CHECK(mtx_lock(&recursive) == thrd_success);
    CHECK(mtx_trylock(&recursive) == thrd_success);
    CHECK(mtx_unlock(&recursive) == thrd_success);
    CHECK(mtx_unlock(&recursive) == thrd_success);
    struct timespec later = in_us(CLOCK_REALTIME, 30000000);
    CHECK(mtx_timedlock(&timed, &later) == thrd_success);
    CHECK(mtx_unlock(&timed) == thrd_success);
  }
  for (int i = 0; i < 100; ++i) {
    mtx_lock(&plain);
    while (turn != number)
      CHECK(cnd_wait(&changed, &plain) == thrd_success);
    turn = (turn + 1) % THREADS;
    cnd_broadcast(&changed);
    mtx_unlock(&plain);
  }
  return 0;
}

int main(void) {
  thrd_t ids[THREADS];
  mtx_init(&plain, mtx_plain);
  mtx_init(&timed, mtx_timed);
  mtx_init(&recursive, mtx_plain | mtx_recursive);
  cnd_init(&changed);
  for (long i = 0; i < THREADS; ++i)
    CHECK(thrd_create(&ids[i], use, (void *)i) == thrd_success);
  for (int i = 0; i < THREADS; ++i)
    CHECK(thrd_join(ids[i], NULL) == thrd_success);
  CHECK(entered == left && entered >= THREADS * ROUNDS);
  return 0;
}
