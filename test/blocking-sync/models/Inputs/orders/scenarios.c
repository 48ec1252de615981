/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two to four threads use one primitive for a moment. What they protect is plain
 * memory, so that an order too weak shows as a data race; a lost wake-up shows as a
 * deadlock. Those with `last` in their name write over the object as soon as that is
 * allowed: whoever still touches it then races with that.
 */

#include "model.h"
#include "spin-wait/limit.h"
#include "vfriendly/barrier.h"
#include "vfriendly/cond.h"
#include "vfriendly/event.h"
#include "vfriendly/mutex.h"
#include "vfriendly/rwlock.h"
#include "vfriendly/sem.h"
#include <errno.h>
#include <string.h>

/* No group has a limit of CPU time. */
struct vf_limit_shared vf_limit_1;
void vf_limit_read(uint64_t now) { (void)now; }

/* When it comes is the search's to say. */
static const struct timespec deadline = {1, 0};

static vf_mutex mutex;
static vf_cond cond;
static vf_rwlock rwlock;
static vf_sem sem, other_sem;
static vf_barrier barrier;
static vf_event event;
static long first_half, second_half, left, tokens, arrived[4];

static void forget(void) {
  first_half = second_half = left = tokens = 0;
  memset(arrived, 0, sizeof arrived);
}

static void write_both(void) {
  CHECK(first_half == second_half);
  ++first_half;
  ++second_half;
}

/*===- mutex --------------------------------------------------------------===*/

static void mutex_of(unsigned flags) {
  forget();
  left = 3;
  vf_mutex_init(&mutex, flags);
}

static void private_mutex(void) { mutex_of(0); }
static void shared_mutex(void) { mutex_of(VF_SHARED); }

static bool lock_somehow(void) {
  switch (model_choose(4)) {
  case 0:
    return vf_mutex_trylock(&mutex) == 0;
  case 1:
    return vf_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline) == 0;
  default:
    return vf_mutex_lock(&mutex) == 0;
  }
}

/* The library's, not the header's. */
static int (*volatile called_unlock)(vf_mutex *) = vf_mutex_unlock;

static void unlock_somehow(void) {
  if (model_choose(2))
    vf_mutex_unlock(&mutex);
  else
    called_unlock(&mutex);
}

static void use_mutex(int number) {
  (void)number;
  for (int round = 0; round < 3; ++round)
    if (lock_somehow()) {
      write_both();
      unlock_somehow();
    }
}

static void use_mutex_last(int number) {
  (void)number;
  while (!lock_somehow())
    ;
  bool last = --left == 0;
  unlock_somehow();
  if (last)
    memset(&mutex, 0xff, sizeof mutex);
}

/*===- cond ---------------------------------------------------------------===*/

static void private_cond(void) {
  private_mutex();
  vf_cond_init(&cond, 0);
}

static void shared_cond(void) {
  shared_mutex();
  vf_cond_init(&cond, VF_SHARED);
}

/* Its waiters cannot move to the mutex. */
static void cond_with_shared_mutex(void) {
  shared_mutex();
  vf_cond_init(&cond, 0);
}

static void give_tokens(void) {
  for (int i = 0; i < 2; ++i) {
    bool outside = model_choose(2);
    vf_mutex_lock(&mutex);
    ++tokens;
    if (outside)
      vf_mutex_unlock(&mutex);
    if (model_choose(2))
      vf_cond_signal(&cond);
    else
      vf_cond_broadcast(&cond);
    if (!outside)
      vf_mutex_unlock(&mutex);
  }
}

static void take_token(void) {
  vf_mutex_lock(&mutex);
  bool timed = model_choose(2);
  while (tokens == 0)
    if (timed)
      vf_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &deadline);
    else
      vf_cond_wait(&cond, &mutex);
  --tokens;
  write_both();
  vf_mutex_unlock(&mutex);
}

static void use_cond(int number) {
  if (number == 0)
    give_tokens();
  else
    take_token();
}

/*===- rwlock -------------------------------------------------------------===*/

static void rwlock_of(unsigned flags) {
  forget();
  left = 3;
  vf_rwlock_init(&rwlock, flags);
}

static void private_rwlock(void) { rwlock_of(0); }
static void shared_rwlock(void) { rwlock_of(VF_SHARED); }

static bool rwlock_somehow(bool writes) {
  switch (model_choose(4)) {
  case 0:
    return (writes ? vf_rwlock_trywrlock : vf_rwlock_tryrdlock)(&rwlock) == 0;
  case 1:
    return (writes ? vf_rwlock_clockwrlock : vf_rwlock_clockrdlock)(
               &rwlock, CLOCK_MONOTONIC, &deadline) == 0;
  default:
    return (writes ? vf_rwlock_wrlock : vf_rwlock_rdlock)(&rwlock) == 0;
  }
}

static void use_rwlock(int number) {
  (void)number;
  for (int round = 0; round < 2; ++round) {
    bool writes = model_choose(2);
    if (!rwlock_somehow(writes))
      continue;
    if (writes)
      write_both();
    else
      CHECK(first_half == second_half);
    vf_rwlock_unlock(&rwlock);
  }
}

/* A reader and a writer say when they come for the last time. */
static void use_rwlock_last(int number) {
  bool others_done;
  do {
    while (!rwlock_somehow(/*writes=*/number != 1))
      ;
    arrived[number] = 1;
    others_done = number == 0 && arrived[1] && arrived[2];
    vf_rwlock_unlock(&rwlock);
  } while (number == 0 && !others_done);
  if (number == 0)
    memset(&rwlock, 0xff, sizeof rwlock);
}

/*===- sem ----------------------------------------------------------------===*/

static void one_permit(void) {
  forget();
  vf_sem_init(&sem, 0, 1);
}

static void no_permit(void) {
  forget();
  vf_sem_init(&sem, 0, 0);
  vf_sem_init(&other_sem, VF_SHARED, 0);
}

static bool take_somehow(void) {
  switch (model_choose(4)) {
  case 0:
    return vf_sem_trywait(&sem) == 0;
  case 1:
    return vf_sem_clockwait(&sem, CLOCK_MONOTONIC, &deadline) == 0;
  default:
    return vf_sem_wait(&sem) == 0;
  }
}

static void use_sem(int number) {
  (void)number;
  for (int round = 0; round < 2; ++round)
    if (take_somehow()) {
      write_both();
      vf_sem_post(&sem);
    }
}

static void all_permits_back(void) { CHECK(vf_sem_value(&sem) == 1); }

static void use_sem_last(int number) {
  if (number == 0) {
    write_both();
    vf_sem_post(&sem);
    vf_sem_wait(&other_sem);
    memset(&other_sem, 0xff, sizeof other_sem);
  } else {
    if (model_choose(2) ||
        vf_sem_clockwait(&sem, CLOCK_MONOTONIC, &deadline) != 0)
      vf_sem_wait(&sem);
    memset(&sem, 0xff, sizeof sem);
    write_both();
    vf_sem_post(&other_sem);
  }
}

/*===- barrier ------------------------------------------------------------===*/

static void barrier_for_three(void) {
  forget();
  vf_barrier_init(&barrier, 0, 3);
}

static void barrier_for_two(void) {
  forget();
  vf_barrier_init(&barrier, VF_SHARED, 2);
}

static void use_barrier(int number) {
  for (int round = 1; round <= 2; ++round) {
    arrived[number] = round;
    vf_barrier_wait(&barrier);
    for (int other = 0; other < 3; ++other)
      CHECK(arrived[other] == round);
    vf_barrier_wait(&barrier);
  }
}

static void use_barrier_last(int number) {
  arrived[number] = 1;
  if (vf_barrier_wait(&barrier) != VF_BARRIER_LAST)
    return;
  CHECK(arrived[0] && arrived[1] && arrived[2]);
  vf_barrier_destroy(&barrier);
  memset(&barrier, 0xff, sizeof barrier);
}

/* Four for a barrier of two. */
static void use_barrier_crowd(int number) {
  (void)number;
  vf_barrier_wait(&barrier);
}

static void nobody_inside(void) { CHECK(vf_barrier_destroy(&barrier) == 0); }

/*===- event --------------------------------------------------------------===*/

static void unset_event(void) {
  forget();
  vf_event_init(&event, 0);
}

static void wait_for_event(void) {
  if (vf_event_trywait(&event) == 0)
    return;
  if (model_choose(2) && vf_event_clockwait(&event, CLOCK_MONOTONIC,
                                            &deadline) == 0)
    return;
  vf_event_wait(&event);
}

static void use_event(int number) {
  if (number != 0) {
    wait_for_event();
    CHECK(first_half == 1);
    return;
  }
  write_both();
  vf_event_set(&event);
  if (model_choose(2)) {
    vf_event_reset(&event);
    vf_event_set(&event);
  }
}

/* Who sleeps by then returns even if the event is unset again by when it runs. */
static void use_event_pulse(int number) {
  if (number != 0) {
    vf_event_wait(&event);
    return;
  }
  const uint32_t sleepers = 2; /* of event.c */
  bool sleeps = __atomic_load_n(&event.word_, __ATOMIC_RELAXED) & sleepers;
  vf_event_set(&event);
  if (sleeps)
    vf_event_reset(&event);
}

static void use_event_last(int number) {
  if (number == 0) {
    write_both();
    vf_event_set(&event);
  } else {
    wait_for_event();
    write_both();
    memset(&event, 0xff, sizeof event);
  }
}

const struct scenario scenarios[] = {
    {"mutex", 3, 30000, private_mutex, use_mutex, 0},
    {"mutex-last", 3, 30000, private_mutex, use_mutex_last, 0},
    {"mutex-shared", 3, 10000, shared_mutex, use_mutex, 0},
    {"mutex-shared-last", 3, 10000, shared_mutex, use_mutex_last, 0},
    {"cond", 3, 30000, private_cond, use_cond, 0},
    {"cond-shared", 3, 10000, shared_cond, use_cond, 0},
    {"cond-shared-mutex", 3, 10000, cond_with_shared_mutex, use_cond, 0},
    {"rwlock", 3, 30000, private_rwlock, use_rwlock, 0},
    {"rwlock-last", 3, 30000, private_rwlock, use_rwlock_last, 0},
    {"rwlock-shared", 3, 10000, shared_rwlock, use_rwlock, 0},
    {"sem", 3, 30000, one_permit, use_sem, all_permits_back},
    {"sem-last", 2, 10000, no_permit, use_sem_last, 0},
    {"barrier", 3, 30000, barrier_for_three, use_barrier, 0},
    {"barrier-last", 3, 30000, barrier_for_three, use_barrier_last, 0},
    {"barrier-crowd", 4, 30000, barrier_for_two, use_barrier_crowd,
     nobody_inside},
    {"event", 3, 30000, unset_event, use_event, 0},
    {"event-pulse", 2, 10000, unset_event, use_event_pulse, 0},
    {"event-last", 2, 10000, unset_event, use_event_last, 0},
};
const unsigned n_scenarios = sizeof scenarios / sizeof *scenarios;
