// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What each primitive promises, checked by threads that use it at random: timed,
// untimed and tried, beside each other. A broken promise ends the program with a
// sentence; a lost wake-up shows as a run that does not end.
//
//   validate_mutex(threads, rounds)   one at a time; nobody waits for ever
//   ...
//
// The objects are small, so that what is released too early is seen: under a mutex
// two plain counters change together, and ThreadSanitizer watches them.

#ifndef VALIDATE_H
#define VALIDATE_H

#include "arrivals.h"
#include "vfriendly/barrier.h"
#include "vfriendly/cond.h"
#include "vfriendly/event.h"
#include "vfriendly/mutex.h"
#include "vfriendly/rwlock.h"
#include "vfriendly/sem.h"
#include "workers.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/*===- mutex --------------------------------------------------------------===*/

static vf_mutex the_mutex = VF_MUTEX_INIT;
static long entered, left;

static void *use_mutex(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds;) {
    struct timespec at;
    clockid_t clock = draw(w, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    int result;
    switch (draw(w, 4)) {
    case 0:
      result = vf_mutex_trylock(&the_mutex);
      CHECK(result == 0 || result == EBUSY);
      break;
    case 1:
      at = in_us(clock, draw(w, 200));
      result = vf_mutex_clocklock(&the_mutex, clock, &at);
      CHECK(result == 0 || result == ETIMEDOUT);
      break;
    default:
      result = vf_mutex_lock(&the_mutex);
      CHECK(result == 0);
    }
    if (result != 0)
      continue;
    ++i;
    CHECK(entered == left);
    ++entered;
    hold(w);
    CHECK(entered == left + 1);
    ++left;
    CHECK(vf_mutex_unlock(&the_mutex) == 0);
    if (draw(w, 4) == 0)
      work(draw(w, 1000));
  }
  return NULL;
}

static inline void validate_mutex(int threads, long rounds) {
  entered = left = 0;
  run(use_mutex, threads, rounds);
  CHECK(entered == threads * rounds);
  CHECK(vf_mutex_destroy(&the_mutex) == 0);
}

/*===- cond ---------------------------------------------------------------===*/

/* A queue of tokens: signals for one, broadcasts for several. */
static vf_mutex queue_mutex = VF_MUTEX_INIT;
static vf_cond not_empty = VF_COND_INIT, not_full = VF_COND_INIT;
static long queued, produced, consumed;
#define CAPACITY 8

static void *use_cond(void *arg) {
  struct worker *w = arg;
  bool produces = w->number % 2 == 0;
  for (long i = 0; i < w->rounds; ++i) {
    bool outside = draw(w, 2);
    bool all = draw(w, 8) == 0;
    CHECK(vf_mutex_lock(&queue_mutex) == 0);
    while (produces ? queued == CAPACITY : queued == 0) {
      vf_cond *wanted = produces ? &not_full : &not_empty;
      if (draw(w, 3) == 0) {
        struct timespec at = in_us(CLOCK_MONOTONIC, draw(w, 300));
        int result = vf_cond_clockwait(wanted, &queue_mutex, CLOCK_MONOTONIC,
                                       &at);
        CHECK(result == 0 || result == ETIMEDOUT);
      } else {
        CHECK(vf_cond_wait(wanted, &queue_mutex) == 0);
      }
    }
    queued += produces ? 1 : -1;
    *(produces ? &produced : &consumed) += 1;
    CHECK(queued >= 0 && queued <= CAPACITY);
    CHECK(produced - consumed == queued);
    if (outside)
      CHECK(vf_mutex_unlock(&queue_mutex) == 0);
    vf_cond *other = produces ? &not_empty : &not_full;
    CHECK((all ? vf_cond_broadcast(other) : vf_cond_signal(other)) == 0);
    if (!outside)
      CHECK(vf_mutex_unlock(&queue_mutex) == 0);
  }
  return NULL;
}

/* pre: threads is even. */
static inline void validate_cond(int threads, long rounds) {
  CHECK(threads % 2 == 0); /* As many who take as who give. */
  queued = produced = consumed = 0;
  run(use_cond, threads, rounds);
  CHECK(queued == 0 && produced == threads / 2 * rounds);
}

/* Two threads and nothing but a signal each: a lost one ends the game. */
static vf_cond your_turn = VF_COND_INIT;
static int turn;

static void *use_turns(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds; ++i) {
    if (draw(w, 4) == 0)
      work(draw(w, 2000));
    CHECK(vf_mutex_lock(&queue_mutex) == 0);
    while (turn != w->number)
      CHECK(vf_cond_wait(&your_turn, &queue_mutex) == 0);
    turn = !turn;
    CHECK(vf_cond_signal(&your_turn) == 0);
    CHECK(vf_mutex_unlock(&queue_mutex) == 0);
  }
  return NULL;
}

/* pre: threads is 2. */
static inline void validate_turns(int threads, long rounds) {
  CHECK(threads == 2);
  run(use_turns, threads, rounds);
}

/*===- rwlock -------------------------------------------------------------===*/

static vf_rwlock the_rwlock = VF_RWLOCK_INIT;
static long first_half, second_half;

static void *use_rwlock(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds;) {
    bool writes = draw(w, 4) == 0;
    int result;
    struct timespec at;
    switch (draw(w, 4)) {
    case 0:
      result = writes ? vf_rwlock_trywrlock(&the_rwlock)
                      : vf_rwlock_tryrdlock(&the_rwlock);
      CHECK(result == 0 || result == EBUSY);
      break;
    case 1:
      at = in_us(CLOCK_MONOTONIC, draw(w, 200));
      result = writes ? vf_rwlock_clockwrlock(&the_rwlock, CLOCK_MONOTONIC, &at)
                      : vf_rwlock_clockrdlock(&the_rwlock, CLOCK_MONOTONIC,
                                              &at);
      CHECK(result == 0 || result == ETIMEDOUT);
      break;
    default:
      result = writes ? vf_rwlock_wrlock(&the_rwlock)
                      : vf_rwlock_rdlock(&the_rwlock);
      CHECK(result == 0);
    }
    if (result != 0)
      continue;
    ++i;
    CHECK(first_half == second_half);
    if (writes) {
      ++first_half;
      hold(w);
      ++second_half;
    } else {
      hold(w);
      CHECK(first_half == second_half);
    }
    CHECK(vf_rwlock_unlock(&the_rwlock) == 0);
  }
  return NULL;
}

static inline void validate_rwlock(int threads, long rounds) {
  first_half = second_half = 0;
  run(use_rwlock, threads, rounds);
  CHECK(vf_rwlock_destroy(&the_rwlock) == 0);
}

/*===- sem ----------------------------------------------------------------===*/

#define PERMITS 3
static vf_sem permits = VF_SEM_INIT(PERMITS);
static long holders;

static void *use_sem(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds;) {
    struct timespec at = in_us(CLOCK_REALTIME, draw(w, 200));
    uint32_t how = draw(w, 4);
    int result = how == 0   ? vf_sem_trywait(&permits)
                 : how == 1 ? vf_sem_clockwait(&permits, CLOCK_REALTIME, &at)
                            : vf_sem_wait(&permits);
    CHECK(result == 0 || (how == 0 && result == EAGAIN) ||
          (how == 1 && result == ETIMEDOUT));
    if (result != 0)
      continue;
    ++i;
    long now = __atomic_add_fetch(&holders, 1, __ATOMIC_RELAXED);
    CHECK(now <= PERMITS);
    hold(w);
    __atomic_fetch_sub(&holders, 1, __ATOMIC_RELAXED);
    CHECK(vf_sem_post(&permits) == 0);
  }
  return NULL;
}

static inline void validate_sem(int threads, long rounds) {
  run(use_sem, threads, rounds);
  CHECK(vf_sem_value(&permits) == PERMITS);
}

/*===- barrier ------------------------------------------------------------===*/

static vf_barrier the_barrier;

static int await_all(void) { return vf_barrier_wait(&the_barrier); }

static void *use_barrier(void *arg) {
  arrive_in_rounds(arg, await_all, VF_BARRIER_LAST);
  return NULL;
}

static inline void validate_barrier(int threads, long rounds) {
  nobody_arrived();
  CHECK(vf_barrier_init(&the_barrier, 0, (unsigned)threads) == 0);
  run(use_barrier, threads, rounds);
  CHECK(last_ones == rounds);
  CHECK(vf_barrier_destroy(&the_barrier) == 0);
}

/*===- event --------------------------------------------------------------===*/

/* Thread 0 sets one event a round, which all others wait for. */
#define EVENTS 256
static vf_event events[EVENTS];
static long payloads[EVENTS];
static vf_sem seen = VF_SEM_INIT(0);

static void *use_event(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds; ++i) {
    vf_event *event = &events[i % EVENTS];
    if (w->number == 0) {
      if (draw(w, 4) == 0)
        work(draw(w, 2000));
      payloads[i % EVENTS] = i;
      CHECK(vf_event_set(event) == 0);
      for (int t = 1; t < w->threads; ++t)
        CHECK(vf_sem_wait(&seen) == 0);
      CHECK(vf_event_reset(event) == 0);
      continue;
    }
    struct timespec at = in_us(CLOCK_MONOTONIC, draw(w, 100));
    if (draw(w, 3) != 0 ||
        vf_event_clockwait(event, CLOCK_MONOTONIC, &at) == ETIMEDOUT)
      CHECK(vf_event_wait(event) == 0);
    CHECK(payloads[i % EVENTS] == i);
    CHECK(vf_sem_post(&seen) == 0);
  }
  return NULL;
}

static inline void validate_event(int threads, long rounds) {
  run(use_event, threads, rounds);
}

#endif
