// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a wake-up takes is learnt from those that sleep in the preload's mutexes and
// conditions, and from nothing else: not from waits that end by their deadline, and not
// where libc sleeps and wakes.
//
// TIMED: one of 20 threads sleeps within 5 ms
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include -I %vf_src/runtime -I %vf_platform %s -o %t -pthread
// RUN: env VF_SPIN_BUDGET_NS=0 %vf_preload %t mutex
// RUN: env VF_SPIN_BUDGET_NS=0 %vf_preload %t cond
// RUN: env VF_SPIN_BUDGET_NS=0 VF_PTHREAD_CROWDS=own %vf_preload %t broadcast
// RUN: env VF_SPIN_BUDGET_NS=0 VF_PTHREAD=off %vf_preload %t libc

#define _GNU_SOURCE
#include "spin-wait/tuning.h"
#include "workers.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn, waiting;

/* 0 as long as nothing was learnt. */
static uint32_t learnt(void) {
  const struct vf_spin_shared *shared = dlsym(RTLD_DEFAULT, "vf_spin_shared_1");
  CHECK(shared);
  return vf_get(&shared->wake_ns);
}

static void *lock_once(void *arg) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  return arg;
}

static void sleep_for_mutex(void) {
  pthread_t id;
  CHECK(pthread_mutex_lock(&mutex) == 0);
  CHECK(pthread_create(&id, NULL, lock_once, NULL) == 0);
  while (__atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) != 2)
    sleep_ms(1);
  sleep_ms(5); // Until it sleeps.
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  CHECK(pthread_join(id, NULL) == 0);
}

static void *wait_for_turn(void *arg) {
  CHECK(pthread_mutex_lock(&mutex) == 0);
  ++waiting;
  for (int now = turn; now == turn;)
    CHECK(pthread_cond_wait(&cond, &mutex) == 0);
  --waiting;
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  return arg;
}

static void sleep_for_cond(int threads, int (*wake)(pthread_cond_t *)) {
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_create(&ids[i], NULL, wait_for_turn, NULL) == 0);
  for (int now = 0; now < threads;) {
    sleep_ms(5); // And until they sleep.
    CHECK(pthread_mutex_lock(&mutex) == 0);
    now = waiting;
    CHECK(pthread_mutex_unlock(&mutex) == 0);
  }
  CHECK(pthread_mutex_lock(&mutex) == 0);
  ++turn;
  CHECK(pthread_mutex_unlock(&mutex) == 0);
  CHECK(wake(&cond) == 0);
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_join(ids[i], NULL) == 0);
}

static void *time_out(void *arg) {
  struct timespec at = in_us(CLOCK_REALTIME, 2000);
  CHECK(pthread_mutex_timedlock(&mutex, &at) == ETIMEDOUT);
  return arg;
}

static void time_out_at_all(void) {
  pthread_t id;
  CHECK(pthread_mutex_lock(&mutex) == 0);
  CHECK(pthread_create(&id, NULL, time_out, NULL) == 0);
  CHECK(pthread_join(id, NULL) == 0);
  struct timespec at = in_us(CLOCK_REALTIME, 2000);
  CHECK(pthread_cond_timedwait(&cond, &mutex, &at) == ETIMEDOUT);
  CHECK(pthread_mutex_unlock(&mutex) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  alarm(120); /* Some hundred times what it takes. */
  bool at_mutex = strcmp(argv[1], "mutex") == 0, in_libc = strcmp(argv[1], "libc") == 0;
  time_out_at_all();
  CHECK(learnt() == 0);
  /* One may be preempted before it sleeps, and then learns nothing. */
  for (int i = 0; i < 20; ++i) {
    if (at_mutex || in_libc)
      sleep_for_mutex();
    if (strcmp(argv[1], "cond") == 0 || in_libc)
      sleep_for_cond(1, pthread_cond_signal);
    if (strcmp(argv[1], "broadcast") == 0)
      sleep_for_cond(3, pthread_cond_broadcast);
  }
  CHECK((learnt() == 0) == in_libc);
  return 0;
}
