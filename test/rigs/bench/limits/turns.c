/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * turns MICROSECONDS TURNS: two threads take turns; each computes for about so
 * long and then hands over. With -DFUTEX they sleep until the other one wakes
 * them, as a careful programmer would write it for a limited container. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_uint turn;
static long turns, work;
static volatile unsigned long sink[2][8];

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Each step depends on the last one, and the compiler cannot join them. */
static void compute(unsigned me, long steps) {
  unsigned long x = me + 1;
  for (long i = 0; i < steps; i++) {
    x = x * 6364136223846793005ul + 1;
    __asm__("" : "+r"(x));
  }
  sink[me][0] += x;
}

static void *take(void *self) {
  unsigned me = self != NULL;
  for (long i = 0; i < turns; i++) {
#ifdef FUTEX
    while (atomic_load_explicit(&turn, memory_order_acquire) != me)
      syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !me, NULL, NULL, 0);
#else
    while (atomic_load_explicit(&turn, memory_order_acquire) != me)
      ;
#endif
    compute(me, work);
    atomic_store_explicit(&turn, !me, memory_order_release);
#ifdef FUTEX
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
#endif
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  turns = atol(argv[2]) / 2;
  /* Steps in a microsecond, from the quickest of a few trials. */
  double quickest = 1;
  for (int i = 0; i < 9; i++) {
    double begin = seconds(CLOCK_MONOTONIC);
    compute(0, 100000);
    double took = seconds(CLOCK_MONOTONIC) - begin;
    quickest = took < quickest ? took : quickest;
  }
  work = (long)(atof(argv[1]) * 1e-6 * 100000 / quickest);
  double begin = seconds(CLOCK_MONOTONIC),
         used = seconds(CLOCK_PROCESS_CPUTIME_ID);
  pthread_t other;
  if (pthread_create(&other, NULL, take, &turn))
    return 1;
  take(NULL);
  pthread_join(other, NULL);
  printf("{\"us\": %.3f, \"cpu_us\": %.3f}\n",
         (seconds(CLOCK_MONOTONIC) - begin) * 1e6 / (double)(2 * turns),
         (seconds(CLOCK_PROCESS_CPUTIME_ID) - used) * 1e6 / (double)(2 * turns));
  return 0;
}
