// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is easily got wrong: an event that is set and reset at once still wakes all who
// waited; a shared lock with sleepers is locked; a condition may be gone as soon as its
// waiters are back; a barrier may be used by more threads than it is for.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "validate.h"

#define THREADS 6
static vf_event event;
static vf_sem waiting = VF_SEM_INIT(0);
static pthread_t ids[THREADS];

static void start(void *(*body)(void *), void *arg) {
  for (int i = 0; i < THREADS; ++i)
    CHECK(pthread_create(&ids[i], NULL, body, arg) == 0);
}

static void join(void) {
  for (int i = 0; i < THREADS; ++i)
    CHECK(pthread_join(ids[i], NULL) == 0);
}

static void *wait_for_event(void *arg) {
  (void)arg;
  vf_sem_post(&waiting);
  CHECK(vf_event_wait(&event) == 0);
  return NULL;
}

static void check_pulse(void) {
  for (int round = 0; round < 20; ++round) {
    start(wait_for_event, NULL);
    for (int i = 0; i < THREADS; ++i)
      vf_sem_wait(&waiting);
    sleep_ms(3); /* Until all have looked, most sleep. */
    vf_event_set(&event);
    vf_event_reset(&event);
    join();
  }
}

static vf_mutex shared;

static void *lock_and_unlock(void *arg) {
  (void)arg;
  vf_mutex_lock(&shared);
  vf_mutex_unlock(&shared);
  return NULL;
}

static void check_destroy(void) {
  CHECK(vf_mutex_init(&shared, VF_SHARED) == 0);
  vf_mutex_lock(&shared);
  start(lock_and_unlock, NULL);
  sleep_ms(5);
  CHECK(vf_mutex_destroy(&shared) == EBUSY);
  vf_mutex_unlock(&shared);
  join();
  CHECK(vf_mutex_destroy(&shared) == 0);
}

/* One of the waiters, the last, frees it. */
struct once {
  vf_mutex mutex;
  vf_cond cond;
  int left;
  bool go;
};

static void *wait_and_free(void *arg) {
  struct once *once = arg;
  vf_mutex_lock(&once->mutex);
  while (!once->go)
    vf_cond_wait(&once->cond, &once->mutex);
  bool last = --once->left == 0;
  vf_mutex_unlock(&once->mutex);
  if (last) {
    memset(once, 0x55, sizeof *once);
    free(once);
  }
  return NULL;
}

static void check_condition_goes(void) {
  for (int round = 0; round < 200; ++round) {
    struct once *once = calloc(1, sizeof *once);
    once->left = THREADS;
    start(wait_and_free, once);
    if (round % 2)
      sleep_ms(1);
    vf_mutex_lock(&once->mutex);
    once->go = true;
    vf_cond_broadcast(&once->cond);
    vf_mutex_unlock(&once->mutex);
    join();
  }
}

static vf_barrier barrier = VF_BARRIER_INIT(2);
static long tickets, lasts;
#define CALLS 40000

static void *use_crowded_barrier(void *arg) {
  (void)arg;
  while (__atomic_fetch_add(&tickets, 1, __ATOMIC_RELAXED) < CALLS)
    if (vf_barrier_wait(&barrier) == VF_BARRIER_LAST)
      __atomic_fetch_add(&lasts, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void check_crowded_barrier(void) {
  start(use_crowded_barrier, NULL);
  join();
  CHECK(lasts == CALLS / 2 && vf_barrier_destroy(&barrier) == 0);
}

int main(void) {
  check_pulse();
  check_destroy();
  check_condition_goes();
  check_crowded_barrier();
  return 0;
}
