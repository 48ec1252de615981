// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locks that libvfpthread and libc use in turns: libc's conditions release and take
// the mutexes by themselves. Each kind, locked, tried and timed, by more threads than
// CPUs; and spin locks. A lost wake-up shows as a run that does not end.
//
// REQUIRES: preload
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../Inputs -I %S/../../Inputs -I %vf_include %s -o %t -pthread
// RUN: %vf_preload %t normal 8 2000
// RUN: %vf_preload %t adaptive 8 2000
// RUN: %vf_preload %t recursive 8 2000
// RUN: %vf_preload %t errorcheck 8 2000
// RUN: %vf_preload %t normal 2 60000
// RUN: %vf_preload %t recursive 4 60000
// RUN: %vf_preload %t spin 8 20000
// RUN: %vf_preload %t shared 4 2000
// RUN: env VF_SPIN_NOTIFY=off %vf_preload %t spin 8 500
// The spins, sleeps and waits are ours:
// RUN: env VF_STATS=1 %vf_preload %t normal 8 500 2>&1 | FileCheck --check-prefix=MUTEX %s
// RUN: env VF_STATS=1 %vf_preload %t spin 8 5000 2>&1 | FileCheck --check-prefix=SPIN %s
// MUTEX: "vfpthread": {"spins": {{[1-9][0-9]*}}, "spun": {{[0-9]+}}, "sleeps": {{[1-9][0-9]*}}, "wakes": {{[1-9]}}
// SPIN: "spin_lock_waits": {{[1-9]}}
// Without spinning at all, and where it lasts longest:
// RUN: env VF_SPIN_BUDGET_NS=0 %vf_preload %t normal 8 1000
// RUN: env VF_SPIN_BUDGET_NS=1000000 %vf_preload %t normal 8 1000

#define _GNU_SOURCE
#include "processes.h"
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define CAPACITY 4

/* Under the mutex: two plain counters that change together, and a queue. */
static pthread_mutex_t mutex;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER,
                      not_full = PTHREAD_COND_INITIALIZER;
static long entered, left, queued, moved;
static bool is_recursive;

static int lock_somehow(struct worker *w) {
  struct timespec at;
  int result;
  switch (draw(w, 5)) {
  case 0:
    result = pthread_mutex_trylock(&mutex);
    CHECK(result == 0 || result == EBUSY);
    return result;
  case 1:
    at = in_us(CLOCK_REALTIME, draw(w, 200));
    result = pthread_mutex_timedlock(&mutex, &at);
    CHECK(result == 0 || result == ETIMEDOUT);
    return result;
  case 2:
    at = in_us(CLOCK_MONOTONIC, draw(w, 200));
    result = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &at);
    CHECK(result == 0 || result == ETIMEDOUT);
    return result;
  default:
    return pthread_mutex_lock(&mutex);
  }
}

/* Even ones put, odd ones take, and wait in libc. */
static void move_one(struct worker *w) {
  bool puts = w->number % 2 == 0;
  pthread_cond_t *wanted = puts ? &not_full : &not_empty;
  while (puts ? queued == CAPACITY : queued == 0) {
    if (draw(w, 3) == 0) {
      struct timespec at = in_us(CLOCK_REALTIME, draw(w, 300));
      int result = pthread_cond_timedwait(wanted, &mutex, &at);
      CHECK(result == 0 || result == ETIMEDOUT);
    } else {
      CHECK(pthread_cond_wait(wanted, &mutex) == 0);
    }
    CHECK(entered == left);
  }
  queued += puts ? 1 : -1;
  ++moved;
  pthread_cond_t *other = puts ? &not_empty : &not_full;
  CHECK((draw(w, 8) == 0 ? pthread_cond_broadcast(other)
                         : pthread_cond_signal(other)) == 0);
}

static void *use_mutex(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds;) {
    errno = 77;
    if (lock_somehow(w) != 0)
      continue;
    CHECK(errno == 77 && entered == left);
    ++entered;
    hold(w);
    CHECK(entered == left + 1);
    ++left;
    if (i++ % 2 == 0)
      move_one(w);
    if (is_recursive) {
      CHECK(pthread_mutex_lock(&mutex) == 0);
      CHECK(pthread_mutex_unlock(&mutex) == 0);
    }
    CHECK(pthread_mutex_unlock(&mutex) == 0);
  }
  return NULL;
}

static pthread_spinlock_t spin, free_spin;

static void *use_spin(void *arg) {
  struct worker *w = arg;
  for (long i = 0; i < w->rounds;) {
    if (draw(w, 4) == 0) {
      int result = pthread_spin_trylock(&spin);
      CHECK(result == 0 || result == EBUSY);
      if (result != 0)
        continue;
    } else {
      CHECK(pthread_spin_lock(&spin) == 0);
    }
    ++i;
    CHECK(spin != free_spin && entered == left);
    ++entered;
    hold(w);
    CHECK(entered == left + 1);
    ++left;
    CHECK(pthread_spin_unlock(&spin) == 0);
  }
  return NULL;
}

/* A spin lock that processes share, which nobody notifies across. */
static struct {
  pthread_spinlock_t lock;
  long sum;
} *shared;

static void add_up(struct worker *w) {
  for (long n = 0; n < w->rounds; ++n) {
    pthread_spin_lock(&shared->lock);
    long sum = shared->sum;
    hold(w);
    shared->sum = sum + 1;
    pthread_spin_unlock(&shared->lock);
  }
}

static void share_spin(int processes, long rounds) {
  shared = share(sizeof *shared);
  pthread_spin_init(&shared->lock, PTHREAD_PROCESS_SHARED);
  free_spin = shared->lock;
  run_processes(add_up, processes, rounds);
  CHECK(shared->sum == processes * rounds && shared->lock == free_spin);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int type;
  } types[] = {{"normal", PTHREAD_MUTEX_NORMAL},
               {"adaptive", PTHREAD_MUTEX_ADAPTIVE_NP},
               {"recursive", PTHREAD_MUTEX_RECURSIVE},
               {"errorcheck", PTHREAD_MUTEX_ERRORCHECK}};
  CHECK(argc == 4);
  int threads = atoi(argv[2]);
  long rounds = atol(argv[3]);
  CHECK(threads > 0 && threads <= MAX_THREADS && threads % 2 == 0);
  alarm(120); /* Some hundred times what it takes. */
  if (strcmp(argv[1], "shared") == 0) {
    share_spin(threads, rounds);
    return 0;
  }
  if (strcmp(argv[1], "spin") == 0) {
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    free_spin = spin;
    run(use_spin, threads, rounds);
    CHECK(entered == threads * rounds && left == entered);
    CHECK(spin == free_spin);
    return 0;
  }
  for (unsigned i = 0; i < sizeof types / sizeof *types; ++i) {
    if (strcmp(argv[1], types[i].name) != 0)
      continue;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, types[i].type);
    pthread_mutex_init(&mutex, &attr);
    is_recursive = types[i].type == PTHREAD_MUTEX_RECURSIVE;
    run(use_mutex, threads, rounds);
    CHECK(entered == threads * rounds && left == entered);
    CHECK(queued == 0 && moved == threads * (rounds / 2));
    CHECK(mutex.__data.__lock == 0 && mutex.__data.__owner == 0 &&
          mutex.__data.__nusers == 0);
    CHECK(pthread_mutex_destroy(&mutex) == 0);
    return 0;
  }
  fprintf(stderr, "no kind '%s'\n", argv[1]);
  return 2;
}
