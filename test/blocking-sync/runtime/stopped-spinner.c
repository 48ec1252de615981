// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A waiter that spins, and so keeps unlocks from waking others, is stopped by a signal
// handler that blocks. Who is parked gets the free lock all the same, with a deadline of
// either clock and without one; and who is parked while the lock is held stays so.
//
// TIMED: a waiter spins within 0.1 s, and has the lock within 5 s
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: env VF_SPIN_BUDGET_NS=1000000 %t

#include "validate.h"
#include <signal.h>
#include <unistd.h>

#define PARKED 2u /* runtime/blocking-sync/mutex.c */
#define SPINNING 4u

static vf_mutex m;
static int stopped, go_on[2], got_it, timed;

static void stop(int number) {
  char c;
  (void)number;
  __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
  CHECK(read(go_on[0], &c, 1) == 1);
}

static uint32_t word(void) { return __atomic_load_n(&m.word_, __ATOMIC_RELAXED); }

static bool has_it(void) { return __atomic_load_n(&got_it, __ATOMIC_RELAXED); }

static void *spin_for_it(void *arg) {
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

/* Whether the spinner was stopped as one, and not after it had parked. */
static bool stop_the_spinner(pthread_t *spinner) {
  CHECK(pthread_create(spinner, NULL, spin_for_it, NULL) == 0);
  double until = seconds() + 0.1;
  while (!(word() & SPINNING) && seconds() < until)
    ;
  CHECK(pthread_kill(*spinner, SIGUSR1) == 0);
  while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED))
    sleep_ms(1);
  return word() & SPINNING;
}

/* 1 if the parked got it, 0 if not, -1 if there was no spinner to be stopped. */
static int once(void) {
  pthread_t parked, spinner;
  CHECK(vf_mutex_init(&m, 0) == 0);
  got_it = stopped = 0;
  vf_mutex_lock(&m);
  CHECK(pthread_create(&parked, NULL, park_for_it, NULL) == 0);
  while (!(word() & PARKED) || (word() & SPINNING))
    sleep_ms(1);
  bool was_spinning = stop_the_spinner(&spinner);
  sleep_ms(30); /* Looks at a lock that is held, too. */
  CHECK(!has_it());
  vf_mutex_unlock(&m);
  int result = was_spinning ? 0 : -1;
  /* It takes some 40 ms. */
  for (double until = seconds() + 5; was_spinning && seconds() < until; sleep_ms(1))
    if (has_it()) {
      result = 1;
      break;
    }
  CHECK(write(go_on[1], "", 1) == 1);
  CHECK(pthread_join(spinner, NULL) == 0 && pthread_join(parked, NULL) == 0);
  return result;
}

int main(void) {
  struct sigaction action = {.sa_handler = stop};
  alarm(120);
  CHECK(pipe(go_on) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
  for (timed = 0; timed < 3; ++timed) {
    /* One stopped as it holds the bucket's lock, for some 20 ns of a millisecond, holds
     * up everybody: that is not twice in a row. */
    int failures = 0, successes = 0;
    while (failures < 2 && successes < 3) {
      int result = once();
      successes += result == 1;
      failures = result == 0 ? failures + 1 : result == 1 ? 0 : failures;
    }
    CHECK(successes == 3);
  }
  return 0;
}
