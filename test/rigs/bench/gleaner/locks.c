/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * locks SECONDS THREADS mutex|ticket INSIDE OUTSIDE [WARM_UP]: threads that
 * compute for OUTSIDE steps, take one lock and compute for INSIDE more. Prints
 * rounds per second after WARM_UP seconds. For gleaner, a round is a call of
 * `done`. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "marks.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long rounds; /* changed by the lock's holder */
static long inside, outside;
static int tickets;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(128) atomic_uint next;
static _Alignas(128) atomic_uint serving;

static void compute(long steps) {
  for (long i = 0; i < steps; ++i)
    __asm__ volatile("" ::: "memory");
}

static void lock(void) {
  if (!tickets) {
    pthread_mutex_lock(&mutex);
    return;
  }
  unsigned mine = atomic_fetch_add(&next, 1);
  while (atomic_load(&serving) != mine)
    __builtin_ia32_pause();
}

static void unlock(void) {
  if (tickets)
    atomic_fetch_add(&serving, 1);
  else
    pthread_mutex_unlock(&mutex);
}

__attribute__((noinline)) static void done(void) { __asm__ volatile(""); }

static void *work(void *data) {
  for (;;) {
    compute(outside);
    lock();
    compute(inside);
    atomic_store(&rounds, atomic_load(&rounds) + 1);
    unlock();
    done();
  }
  return data;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fputs("usage: locks SECONDS THREADS mutex|ticket INSIDE OUTSIDE "
          "[WARM_UP]\n",
          stderr);
    return 2;
  }
  double seconds = atof(argv[1]);
  tickets = strcmp(argv[3], "ticket") == 0;
  inside = atol(argv[4]), outside = atol(argv[5]);
  pthread_t thread;
  for (int i = atoi(argv[2]); i > 0; --i)
    if (pthread_create(&thread, NULL, work, NULL) != 0)
      return 1;
  usleep((useconds_t)((argc > 6 ? atof(argv[6]) : 0) * 1e6));
  mark(1);
  long before = atomic_load(&rounds);
  usleep((useconds_t)(seconds * 1e6));
  long n = atomic_load(&rounds) - before;
  mark(2);
  printf("{\"rate\": %.1f, \"rounds\": %ld}\n", (double)n / seconds, n);
  fflush(stdout);
  _exit(0);
}
