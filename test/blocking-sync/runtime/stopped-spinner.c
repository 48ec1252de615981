// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A waiter that spins, and so keeps unlocks from waking others, is stopped, as by a signal
// handler that blocks: where it reads the clock. Who is parked gets the free lock all the same, with a deadline of
// either clock and without one; and who is parked while the lock is held stays so.
//
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: env VF_SPIN_BUDGET_NS=1000000 %t

#include "validate.h"
#include <sys/syscall.h>
#include <unistd.h>

#define PARKED 2u /* runtime/blocking-sync/mutex.c */
#define SPINNING 4u

static vf_mutex m;
static int stopped, go_on[2], got_it, timed;
static __thread bool to_be_stopped;

static uint32_t word(void) { return __atomic_load_n(&m.word_, __ATOMIC_RELAXED); }

/* Stands before libc's for the runtime, whose spins read it. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  char c;
  if (to_be_stopped && (word() & SPINNING)) {
    to_be_stopped = false;
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    CHECK(read(go_on[0], &c, 1) == 1);
  }
  return (int)syscall(SYS_clock_gettime, clock, time);
}

static bool has_it(void) { return __atomic_load_n(&got_it, __ATOMIC_RELAXED); }

static void *spin_for_it(void *arg) {
  to_be_stopped = true;
  vf_mutex_lock(&m);
  vf_mutex_unlock(&m);
  return arg;
}

static void *park_for_it(void *arg) {
  struct timespec never;
  clockid_t clock = timed == 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  clock_gettime(clock, &never);
  never.tv_sec += 3600;
  CHECK((timed ? vf_mutex_clocklock(&m, clock, &never) : vf_mutex_lock(&m)) == 0);
  __atomic_store_n(&got_it, 1, __ATOMIC_RELAXED);
  vf_mutex_unlock(&m);
  return arg;
}

static void once(void) {
  pthread_t parked, spinner;
  CHECK(vf_mutex_init(&m, 0) == 0);
  got_it = stopped = 0;
  vf_mutex_lock(&m);
  CHECK(pthread_create(&parked, NULL, park_for_it, NULL) == 0);
  while (!(word() & PARKED) || (word() & SPINNING))
    sleep_ms(1);
  CHECK(pthread_create(&spinner, NULL, spin_for_it, NULL) == 0);
  while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED))
    sleep_ms(1);
  sleep_ms(30); /* Looks at a lock that is held, too. */
  CHECK(!has_it());
  vf_mutex_unlock(&m);
  while (!has_it()) /* It takes some 40 ms. */
    sleep_ms(1);
  CHECK(write(go_on[1], "", 1) == 1);
  CHECK(pthread_join(spinner, NULL) == 0 && pthread_join(parked, NULL) == 0);
}

int main(void) {
  alarm(120);
  CHECK(pipe(go_on) == 0);
  for (timed = 0; timed < 3; ++timed)
    once();
  return 0;
}
