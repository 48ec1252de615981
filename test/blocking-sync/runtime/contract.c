// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the headers promise of arguments, results and errno.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "validate.h"

static struct timespec past(void) { return (struct timespec){-5, 0}; }

static void check_mutex(void) {
  vf_mutex m = VF_MUTEX_INIT;
  struct timespec soon = in_us(CLOCK_MONOTONIC, 2000), bad = {0, 1000000000},
                  over = past();
  CHECK(vf_mutex_init(&m, 2) == EINVAL && vf_mutex_init(&m, 0) == 0);
  CHECK(vf_mutex_lock(&m) == 0 && vf_mutex_trylock(&m) == EBUSY);
  CHECK(vf_mutex_destroy(&m) == EBUSY);
  CHECK(vf_mutex_clocklock(&m, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  CHECK(vf_mutex_clocklock(&m, CLOCK_REALTIME, &over) == ETIMEDOUT);
  CHECK(vf_mutex_clocklock(&m, CLOCK_MONOTONIC, &bad) == EINVAL);
  CHECK(vf_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &soon) == EINVAL);
  CHECK(vf_mutex_unlock(&m) == 0);
  /* Looked at only if it has to wait. */
  CHECK(vf_mutex_clocklock(&m, CLOCK_MONOTONIC, &bad) == 0);
  CHECK(vf_mutex_unlock(&m) == 0 && vf_mutex_destroy(&m) == 0);
}

static void check_cond(void) {
  vf_mutex m = VF_MUTEX_INIT;
  vf_cond c = VF_COND_INIT;
  struct timespec soon = in_us(CLOCK_REALTIME, 2000), bad = {0, -1};
  CHECK(vf_cond_init(&c, 4) == EINVAL && vf_cond_init(&c, 0) == 0);
  CHECK(vf_cond_signal(&c) == 0 && vf_cond_broadcast(&c) == 0);
  vf_mutex_lock(&m);
  CHECK(vf_cond_clockwait(&c, &m, CLOCK_REALTIME, &soon) == ETIMEDOUT);
  CHECK(vf_mutex_trylock(&m) == EBUSY);
  CHECK(vf_cond_clockwait(&c, &m, CLOCK_REALTIME, &bad) == EINVAL);
  CHECK(vf_mutex_trylock(&m) == EBUSY);
  vf_mutex_unlock(&m);
  CHECK(vf_cond_destroy(&c) == 0);
}

static void check_rwlock(void) {
  vf_rwlock l = VF_RWLOCK_INIT;
  struct timespec soon = in_us(CLOCK_MONOTONIC, 2000), bad = {0, 1000000000};
  CHECK(vf_rwlock_init(&l, 8) == EINVAL && vf_rwlock_init(&l, 0) == 0);
  CHECK(vf_rwlock_rdlock(&l) == 0 && vf_rwlock_tryrdlock(&l) == 0);
  CHECK(vf_rwlock_trywrlock(&l) == EBUSY && vf_rwlock_destroy(&l) == EBUSY);
  CHECK(vf_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  CHECK(vf_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &bad) == EINVAL);
  /* The writer that gave up keeps nobody out. */
  CHECK(vf_rwlock_tryrdlock(&l) == 0);
  for (int i = 0; i < 3; ++i)
    CHECK(vf_rwlock_unlock(&l) == 0);
  CHECK(vf_rwlock_wrlock(&l) == 0);
  CHECK(vf_rwlock_tryrdlock(&l) == EBUSY && vf_rwlock_trywrlock(&l) == EBUSY);
  CHECK(vf_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  CHECK(vf_rwlock_destroy(&l) == EBUSY && vf_rwlock_unlock(&l) == 0);
  CHECK(vf_rwlock_destroy(&l) == 0);
}

static void check_sem(void) {
  vf_sem s = VF_SEM_INIT(1);
  struct timespec soon = in_us(CLOCK_MONOTONIC, 2000), bad = {0, 1000000000};
  CHECK(vf_sem_wait(&s) == 0 && vf_sem_trywait(&s) == EAGAIN);
  CHECK(vf_sem_clockwait(&s, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  CHECK(vf_sem_clockwait(&s, CLOCK_MONOTONIC, &bad) == EINVAL);
  CHECK(vf_sem_post(&s) == 0 && vf_sem_value(&s) == 1);
  CHECK(vf_sem_init(&s, 0, VF_SEM_MAX + 1u) == EINVAL);
  CHECK(vf_sem_init(&s, 16, 1) == EINVAL);
  CHECK(vf_sem_init(&s, 0, VF_SEM_MAX) == 0 && vf_sem_post(&s) == EOVERFLOW);
  CHECK(vf_sem_value(&s) == VF_SEM_MAX && vf_sem_destroy(&s) == 0);
}

static void check_barrier_and_event(void) {
  vf_barrier b = VF_BARRIER_INIT(1);
  CHECK(vf_barrier_wait(&b) == VF_BARRIER_LAST);
  CHECK(vf_barrier_init(&b, 0, 0) == EINVAL);
  CHECK(vf_barrier_init(&b, 2, 1) == EINVAL && vf_barrier_destroy(&b) == 0);

  vf_event e = VF_EVENT_INIT;
  struct timespec soon = in_us(CLOCK_MONOTONIC, 2000), bad = {0, 1000000000};
  CHECK(vf_event_init(&e, 2) == EINVAL && vf_event_trywait(&e) == EAGAIN);
  CHECK(vf_event_clockwait(&e, CLOCK_MONOTONIC, &soon) == ETIMEDOUT);
  CHECK(vf_event_clockwait(&e, CLOCK_MONOTONIC, &bad) == EINVAL);
  CHECK(vf_event_set(&e) == 0 && vf_event_wait(&e) == 0);
  CHECK(vf_event_reset(&e) == 0 && vf_event_trywait(&e) == EAGAIN);
}

int main(void) {
  errno = 4711;
  check_mutex();
  check_cond();
  check_rwlock();
  check_sem();
  check_barrier_and_event();
  CHECK(errno == 4711);
  return 0;
}
