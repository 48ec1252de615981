// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that use something at random: their dice, deadlines and work.

#ifndef WORKERS_H
#define WORKERS_H

#include "check.h"
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define MAX_THREADS 64

struct worker {
  int number, threads;
  long rounds;
  uint64_t random;
};

static inline uint32_t draw(struct worker *w, uint32_t below) {
  w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(w->random >> 33) % below;
}

/* A deadline so many microseconds from now. */
static inline struct timespec in_us(clockid_t clock, long us) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += us * 1000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static inline void work(uint32_t n) {
  for (volatile uint32_t i = 0; i < n; ++i)
    ;
}

/* Now and then the holder is off its CPU. */
static inline void hold(struct worker *w) {
  work(draw(w, 100));
  if (draw(w, 500) == 0)
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

static inline void run(void *(*body)(void *), int threads, long rounds) {
  static struct worker workers[MAX_THREADS];
  pthread_t ids[MAX_THREADS];
  for (int i = 0; i < threads; ++i) {
    workers[i] = (struct worker){i, threads, rounds, (uint64_t)i * 77 + 1};
    CHECK(pthread_create(&ids[i], NULL, body, &workers[i]) == 0);
  }
  for (int i = 0; i < threads; ++i)
    CHECK(pthread_join(ids[i], NULL) == 0);
}

#endif
