// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions under libvfpthread: no wake-up is lost, whoever of those it was for is
// cancelled, interrupted or out of time; what is destroyed after the last wake-up is not
// touched; waits with mutexes that libc keeps are found. A lost wake-up shows as a run
// that does not end.
//
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %vf_preload %t turns 2 20000
// RUN: %vf_preload %t turns 8 2000
// RUN: %vf_preload %t gates 8 500
// RUN: env VF_PTHREAD_CROWDS=own %vf_preload %t gates 8 500
// RUN: env VF_PTHREAD_CROWDS=own %vf_preload %t gates 3 2000
// RUN: env VF_PTHREAD_CROWDS=own %vf_preload %t cancel 2 2000
// RUN: %vf_preload %t cancel-mixed 2 1000
// RUN: env VF_PTHREAD_CROWDS=own %vf_preload %t destroy 4 1000
// RUN: env VF_PTHREAD_CROWDS=own %vf_preload %t destroy-by-waiter 4 1000
// RUN: env VF_PTHREAD_CROWDS=own %vf_preload %t destroy-by-waiter 2 1000
// RUN: %vf_preload %t foreign 4 300
// RUN: %vf_preload %t processes 4 300
// RUN: env VF_PTHREAD_CROWDS=own VF_SPIN_BUDGET_NS=0 %vf_preload %t gates 8 300
// RUN: env VF_PTHREAD_CROWDS=own VF_SPIN_BUDGET_NS=0 %vf_preload %t cancel 2 1000
// RUN: env VF_PTHREAD_CROWDS=own VF_SPIN_BUDGET_NS=1000000 %vf_preload %t gates 4 300
// The spins, sleeps and waits are ours:
// RUN: env VF_STATS=1 %vf_preload %t turns 2 5000 2>&1 | FileCheck --check-prefix=TURNS %s
// RUN: env VF_STATS=1 VF_PTHREAD_CROWDS=own %vf_preload %t gates 8 100 2>&1 | FileCheck --check-prefix=GATES %s
// RUN: env VF_STATS=1 %vf_preload %t processes 2 100 2>&1 | FileCheck --check-prefix=LIBC --allow-empty %s
// TURNS: "cond_spins": {{[1-9]}}
// GATES: "cond_sleeps": {{[1-9][0-9]*}}, "cond_wakes": {{[1-9]}}
// LIBC-NOT: "cond_s{{[a-z]+}}": {{[1-9]}}
//
// libc keeps these promises as well:
// RUN: %t cancel 2 200
// RUN: %t cancel-mixed 2 200
// RUN: %t gates 4 100

#define _GNU_SOURCE
#include "processes.h"
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void lock(pthread_mutex_t *m) { CHECK(pthread_mutex_lock(m) == 0); }

static void unlock(pthread_mutex_t *m) { CHECK(pthread_mutex_unlock(m) == 0); }

/*===- turns: nothing but a signal to one, or a broadcast where all must look -===*/

static int turn;

static void *use_turns(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds; ++i) {
    if (draw(w, 4) == 0)
      work(draw(w, 2000));
    errno = 77;
    lock(&mutex);
    while (turn != w->number)
      CHECK(pthread_cond_wait(&cond, &mutex) == 0);
    turn = (turn + 1) % w->threads;
    bool outside = draw(w, 2);
    if (outside)
      unlock(&mutex);
    CHECK((w->threads == 2 ? pthread_cond_signal(&cond)
                           : pthread_cond_broadcast(&cond)) == 0);
    if (!outside)
      unlock(&mutex);
    CHECK(errno == 77);
  }
  return NULL;
}

/*===- gates: all wait for each, some in time, some till they are cancelled ---===*/

static long gate, passed, cancelled, started;
static bool is_over;
static pthread_t waiters[MAX_THREADS];

static void on_signal(int number) { (void)number; }

/* Of the one who passed as of the one who was cancelled: it had the mutex. */
static void count_cancelled(void *held) {
  ++cancelled;
  unlock(held);
}

static void wait_somehow(struct worker *w) {
  clockid_t clock = draw(w, 2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
  struct timespec at = in_us(clock, draw(w, 400));
  int result, how = draw(w, 4);
  if (how == 0)
    result = pthread_cond_clockwait(&cond, &mutex, clock, &at);
  else if (how == 1 && clock == CLOCK_REALTIME)
    result = pthread_cond_timedwait(&cond, &mutex, &at);
  else
    result = pthread_cond_wait(&cond, &mutex);
  CHECK(result == 0 || (how < 2 && result == ETIMEDOUT));
}

static void *pass_gates(void *arg) {
  struct worker *w = arg;
  lock(&mutex);
  pthread_cleanup_push(count_cancelled, &mutex);
  long seen = gate;
  ++started;
  while (!is_over) {
    while (gate == seen && !is_over)
      wait_somehow(w);
    if (gate != seen)
      ++passed;
    seen = gate;
    if (draw(w, 3) == 0) {
      unlock(&mutex);
      work(draw(w, 3000)); /* No cancellation point: nothing is held. */
      lock(&mutex);
      passed += gate != seen;
      seen = gate;
    }
  }
  pthread_cleanup_pop(0);
  unlock(&mutex);
  return NULL;
}

static struct worker walkers[MAX_THREADS];

static void start_walker(int i, int threads, long seed) {
  walkers[i] = (struct worker){i, threads, 0, (uint64_t)seed * 77 + 1};
  lock(&mutex);
  long before = started;
  unlock(&mutex);
  CHECK(pthread_create(&waiters[i], NULL, pass_gates, &walkers[i]) == 0);
  for (long now = before; now == before; sched_yield()) {
    lock(&mutex);
    now = started;
    unlock(&mutex);
  }
}

static void use_gates(int threads, long rounds) {
  struct worker w = {0, threads, rounds, 3};
  struct sigaction action = {.sa_handler = on_signal};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (int i = 0; i < threads; ++i)
    start_walker(i, threads, i);
  for (long i = 0; i < rounds; ++i) {
    work(draw(&w, 3000));
    int victim = draw(&w, 4) == 0 ? (int)draw(&w, threads) : -1;
    if (draw(&w, 3) == 0)
      CHECK(pthread_kill(waiters[draw(&w, threads)], SIGUSR1) == 0);
    if (victim >= 0 && draw(&w, 2))
      CHECK(pthread_cancel(waiters[victim]) == 0);
    lock(&mutex);
    passed = 0;
    ++gate;
    bool outside = draw(&w, 2);
    if (outside)
      unlock(&mutex);
    CHECK(pthread_cond_broadcast(&cond) == 0);
    if (!outside)
      unlock(&mutex);
    if (victim >= 0) {
      void *result;
      CHECK(pthread_cancel(waiters[victim]) == 0);
      CHECK(pthread_join(waiters[victim], &result) == 0);
      CHECK(result == PTHREAD_CANCELED);
      start_walker(victim, threads, i);
    }
    /* All others pass by that one broadcast. */
    for (;;) {
      lock(&mutex);
      long now = passed;
      unlock(&mutex);
      if (now >= threads - (victim >= 0))
        break;
      sched_yield();
    }
  }
  lock(&mutex);
  is_over = true;
  pthread_cond_broadcast(&cond);
  unlock(&mutex);
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_join(waiters[i], NULL) == 0);
  CHECK(mutex.__data.__nusers == 0 && mutex.__data.__lock == 0);
}

/*===- cancel: one token, two waiters for it, one of whom is cancelled --------===*/

static pthread_mutex_t kinds[4]; /* ours, robust, PI, shared */

static void make_kinds(void) {
  for (int i = 0; i < 4; ++i) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    if (i == 1)
      pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    if (i == 2)
      pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    if (i == 3)
      pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    CHECK(pthread_mutex_init(&kinds[i], &attr) == 0);
  }
}

static int tokens; /* Set with all mutexes of the waiters, taken with one. */

static bool take(void) {
  int one = 1;
  return __atomic_compare_exchange_n(&tokens, &one, 0, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

static void *take_token(void *arg) {
  lock(arg);
  pthread_cleanup_push(count_cancelled, arg);
  while (!take())
    CHECK(pthread_cond_wait(&cond, arg) == 0);
  pthread_cleanup_pop(0);
  unlock(arg);
  return NULL;
}

static void lock_both(pthread_mutex_t *mutexes[2]) {
  lock(mutexes[0]);
  if (mutexes[1] != mutexes[0])
    lock(mutexes[1]);
}

static void unlock_both(pthread_mutex_t *mutexes[2]) {
  if (mutexes[1] != mutexes[0])
    unlock(mutexes[1]);
  unlock(mutexes[0]);
}

/* Until both sleep, or the first still spins. */
static void let_wait(struct worker *w) {
  usleep(draw(w, 2) ? 200 : draw(w, 60));
}

/* The first waiter's mutex is ours. If the second's is libc's, so is its wait, as
 * after a broadcast that woke several: the first one's signal must not be lost
 * for it. POSIX leaves two mutexes undefined; libc copes, so do we. */
static void use_cancel(long rounds, bool is_mixed) {
  make_kinds();
  pthread_mutex_t *mutexes[2] = {&kinds[0], &kinds[is_mixed]};
  struct worker w = {0, 2, rounds, 5};
  for (long i = 0; i < rounds; ++i) {
    pthread_t ids[2];
    void *results[2];
    for (int t = 0; t < 2; ++t)
      CHECK(pthread_create(&ids[t], NULL, take_token, mutexes[t]) == 0);
    let_wait(&w);
    lock_both(mutexes);
    tokens = 1;
    CHECK(pthread_cond_signal(&cond) == 0);
    if (draw(&w, 2))
      unlock_both(mutexes), work(draw(&w, 500)), lock_both(mutexes);
    CHECK(pthread_cancel(ids[is_mixed ? 0 : draw(&w, 2)]) == 0);
    unlock_both(mutexes);
    /* Somebody takes it. The other waits for ever, if it was not cancelled. */
    while (__atomic_load_n(&tokens, __ATOMIC_ACQUIRE) != 0)
      sched_yield();
    for (int t = 0; t < 2; ++t) {
      pthread_cancel(ids[t]);
      CHECK(pthread_join(ids[t], &results[t]) == 0);
      CHECK(results[t] == NULL || results[t] == PTHREAD_CANCELED);
    }
    CHECK((results[0] == NULL) + (results[1] == NULL) == 1);
    for (int t = 0; t < 2; ++t)
      CHECK(mutexes[t]->__data.__nusers == 0 && mutexes[t]->__data.__lock == 0);
  }
  CHECK(cancelled == rounds);
}

/*===- destroy: right after the last wake-up ----------------------------------===*/

static struct doomed {
  pthread_cond_t cond;
  int waiting;
} *doomed;
static bool by_waiter;

static void destroy(struct doomed *what) {
  CHECK(pthread_cond_destroy(&what->cond) == 0);
  CHECK(munmap(what, (size_t)getpagesize()) == 0);
}

static void *wait_for_doom(void *arg) {
  struct worker w = {0, 0, 0, (uint64_t)(long)arg};
  struct doomed *mine = doomed;
  lock(&mutex);
  ++mine->waiting;
  bool timed = draw(&w, 2);
  struct timespec at = in_us(CLOCK_MONOTONIC, 100000000);
  int result = timed ? pthread_cond_clockwait(&mine->cond, &mutex,
                                              CLOCK_MONOTONIC, &at)
                     : pthread_cond_wait(&mine->cond, &mutex);
  CHECK(result == 0);
  bool last = by_waiter && --mine->waiting == 0;
  unlock(&mutex);
  if (last)
    destroy(mine);
  return NULL;
}

static void use_destroy(int threads, long rounds) {
  struct worker w = {0, threads, rounds, 7};
  for (long i = 0; i < rounds; ++i) {
    pthread_t ids[MAX_THREADS];
    doomed = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(doomed != MAP_FAILED);
    CHECK(pthread_cond_init(&doomed->cond, NULL) == 0);
    for (int t = 0; t < threads; ++t)
      CHECK(pthread_create(&ids[t], NULL, wait_for_doom,
                           (void *)(i * threads + t)) == 0);
    for (int waiting = 0; waiting < threads; sched_yield()) {
      lock(&mutex);
      waiting = doomed->waiting;
      unlock(&mutex);
    }
    if (draw(&w, 2))
      usleep(draw(&w, 100));
    bool one_by_one = draw(&w, 2);
    /* Outside the mutex if a waiter destroys it, perhaps before this returns:
     * more than libc promises. */
    if (!by_waiter)
      lock(&mutex);
    struct doomed *mine = doomed;
    for (int t = 0; one_by_one && t < threads; ++t)
      CHECK(pthread_cond_signal(&mine->cond) == 0);
    if (!one_by_one)
      CHECK(pthread_cond_broadcast(&mine->cond) == 0);
    if (!by_waiter) {
      if (draw(&w, 2))
        unlock(&mutex), lock(&mutex);
      destroy(mine);
      unlock(&mutex);
    }
    for (int t = 0; t < threads; ++t)
      CHECK(pthread_join(ids[t], NULL) == 0);
  }
}

/*===- foreign: the mutex is libc's in some rounds, or of some waiters --------===*/

static long opened;

static int waiting_with[4];

static void *wait_with(void *arg) {
  int kind = (int)(long)arg;
  lock(&kinds[kind]);
  long seen = opened;
  ++waiting_with[kind];
  while (seen == opened)
    CHECK(pthread_cond_wait(&cond, &kinds[kind]) == 0);
  --waiting_with[kind];
  unlock(&kinds[kind]);
  return NULL;
}

static void use_foreign(int threads, long rounds) {
  make_kinds();
  for (long i = 0; i < rounds; ++i) {
    pthread_t ids[MAX_THREADS];
    /* All with one, or with all. libc and we have waiters of one condition
     * at once then, which POSIX leaves undefined; libc copes, so do we. */
    bool mixed = i % 5 == 4;
    for (int t = 0; t < threads; ++t)
      CHECK(pthread_create(&ids[t], NULL, wait_with,
                           (void *)(mixed ? t % 4 : i % 5)) == 0);
    for (int waiting = 0; waiting < threads; sched_yield()) {
      waiting = 0;
      for (int k = 0; k < 4; ++k) {
        lock(&kinds[k]);
        waiting += waiting_with[k];
        unlock(&kinds[k]);
      }
    }
    for (int k = 0; k < 4; ++k)
      lock(&kinds[k]);
    ++opened;
    for (int t = 0; !mixed && i % 2 && t < threads; ++t)
      CHECK(pthread_cond_signal(&cond) == 0);
    if (mixed || i % 2 == 0)
      CHECK(pthread_cond_broadcast(&cond) == 0);
    for (int k = 0; k < 4; ++k)
      unlock(&kinds[k]);
    for (int t = 0; t < threads; ++t)
      CHECK(pthread_join(ids[t], NULL) == 0);
  }
}

/*===- processes: a condition that they share is libc's -----------------------===*/

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  int turn;
} *shared;

static void share_turns(struct worker *w) {
  for (long n = 0; n < w->rounds; ++n) {
    lock(&shared->mutex);
    while (shared->turn != w->number)
      CHECK(pthread_cond_wait(&shared->cond, &shared->mutex) == 0);
    shared->turn = (w->number + 1) % w->threads;
    CHECK(pthread_cond_broadcast(&shared->cond) == 0);
    unlock(&shared->mutex);
  }
}

static void use_processes(int processes, long rounds) {
  pthread_mutexattr_t mutex_attr;
  pthread_condattr_t cond_attr;
  shared = share(sizeof *shared);
  pthread_mutexattr_init(&mutex_attr);
  pthread_mutexattr_setpshared(&mutex_attr, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->mutex, &mutex_attr);
  pthread_condattr_init(&cond_attr);
  pthread_condattr_setpshared(&cond_attr, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared->cond, &cond_attr);
  run_processes(share_turns, processes, rounds);
}

int main(int argc, char **argv) {
  CHECK(argc == 4);
  int threads = atoi(argv[2]);
  long rounds = atol(argv[3]);
  CHECK(threads > 1 && threads <= MAX_THREADS);
  alarm(120); /* Some hundred times what it takes. */
  if (strcmp(argv[1], "turns") == 0)
    run(use_turns, threads, rounds);
  else if (strcmp(argv[1], "gates") == 0)
    use_gates(threads, rounds);
  else if (strcmp(argv[1], "cancel") == 0)
    use_cancel(rounds, false);
  else if (strcmp(argv[1], "cancel-mixed") == 0)
    use_cancel(rounds, true);
  else if (strcmp(argv[1], "destroy") == 0)
    use_destroy(threads, rounds);
  else if (strcmp(argv[1], "destroy-by-waiter") == 0)
    by_waiter = true, use_destroy(threads, rounds);
  else if (strcmp(argv[1], "foreign") == 0)
    use_foreign(threads, rounds);
  else if (strcmp(argv[1], "processes") == 0)
    use_processes(threads, rounds);
  else
    return 2;
  CHECK(pthread_cond_destroy(&cond) == 0);
  return 0;
}
