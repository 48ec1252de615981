// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wakes futex|vf MS WAITS: a thread waits until another one, MS later, stores
// and wakes it. Prints the median microseconds from the store until the waiter
// runs, and the CPU time of the waiter's thread per wait, of all waits and of
// those of the second half, which know what the first ones have learnt.

#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <vfriendly/spin_wait.h>

static atomic_int number; // of the last store
static atomic_int seen;   // by the waiter
static _Atomic double stored_us;
static bool by_futex;
static int waits;
static double *latencies, cpu_us, learnt_cpu_us;

static double us(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void wait_for(int next) {
  uint64_t state = 0;
  int last;
  while ((last = atomic_load_explicit(&number, memory_order_acquire)) < next)
    if (by_futex)
      syscall(SYS_futex, &number, FUTEX_WAIT_PRIVATE, last, NULL, NULL, 0);
    else
      state = vf_spin_wait(&number, (uint64_t)last, state,
                           sizeof number | VF_SPIN_NOTIFIED);
}

static void *waiter(void *unused) {
  double begin = us(CLOCK_THREAD_CPUTIME_ID), half = begin;
  for (int i = 1; i <= waits; ++i) {
    wait_for(i);
    latencies[i - 1] = us(CLOCK_MONOTONIC) - stored_us;
    seen = i;
    if (i == waits / 2)
      half = us(CLOCK_THREAD_CPUTIME_ID);
  }
  double end = us(CLOCK_THREAD_CPUTIME_ID);
  cpu_us = (end - begin) / waits;
  learnt_cpu_us = (end - half) / (waits - waits / 2);
  return unused;
}

static void sleep_us(double t) {
  struct timespec left = {(time_t)(t / 1e6), (long)(t * 1e3) % 1000000000};
  nanosleep(&left, NULL);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  by_futex = strcmp(argv[1], "futex") == 0;
  double gap_us = atof(argv[2]) * 1000;
  waits = atoi(argv[3]);
  latencies = calloc((size_t)waits, sizeof *latencies);
  pthread_t thread;
  if (!latencies || pthread_create(&thread, NULL, waiter, NULL) != 0)
    return 1;
  for (int i = 1; i <= waits; ++i) {
    sleep_us(gap_us);
    stored_us = us(CLOCK_MONOTONIC);
    atomic_store_explicit(&number, i, memory_order_release);
    if (by_futex)
      syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    else
      vf_spin_notify_if_waiting((void *)&number);
    while (seen < i)
      sleep_us(20);
  }
  pthread_join(thread, NULL);
  qsort(latencies, (size_t)waits, sizeof *latencies, by_value);
  printf("{\"latency_us\": %.2f, \"cpu_us\": %.2f, \"learnt_cpu_us\": %.2f}\n",
         latencies[waits / 2], cpu_us, learnt_cpu_us);
}
