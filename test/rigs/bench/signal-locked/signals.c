// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// signals held|after CPUS GAP_NS WORK_NS ITEMS [ANSWER]: a thread hands items
// to another one by a mutex and a condition. It signals while it holds the
// mutex, or after the release; WORK_NS of work follow the signal, or come
// before it, with the mutex held, and GAP_NS without it. With ANSWER it waits
// for each item to be taken. Prints, for an item, the time, the CPU time, and
// how often a thread went to sleep.

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static pthread_cond_t taken_one = PTHREAD_COND_INITIALIZER;
static long put, taken, items;
static bool held, answers;
static double work_per_ns;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Steps of computation, not a clock: a thread that is not running does no work.
static void step(long steps) {
  for (volatile long i = 0; i < steps; ++i)
    ;
}

static void calibrate(void) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    double begin = now_ns();
    step(100000);
    double each = (now_ns() - begin) / 100000;
    best = each < best ? each : best;
  }
  work_per_ns = 1 / best;
}

static void work(double ns) { step((long)(ns * work_per_ns)); }

static void *take(void *unused) {
  for (long i = 0; i < items; ++i) {
    pthread_mutex_lock(&lock);
    while (put == taken)
      pthread_cond_wait(&some, &lock);
    taken++;
    if (answers && held)
      pthread_cond_signal(&taken_one);
    pthread_mutex_unlock(&lock);
    if (answers && !held)
      pthread_cond_signal(&taken_one);
  }
  return unused;
}

int main(int argc, char **argv) {
  if (argc < 6)
    return 2;
  held = strcmp(argv[1], "held") == 0;
  int cpus = atoi(argv[2]);
  double gap_ns = atof(argv[3]), work_ns = atof(argv[4]);
  items = atol(argv[5]);
  answers = argc > 6;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < cpus; ++i)
    CPU_SET(i, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    return 1;
  calibrate();
  pthread_t thread;
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  double begin = now_ns();
  if (pthread_create(&thread, NULL, take, NULL) != 0)
    return 1;
  for (long i = 0; i < items; ++i) {
    pthread_mutex_lock(&lock);
    put++;
    if (held)
      pthread_cond_signal(&some);
    work(work_ns);
    pthread_mutex_unlock(&lock);
    if (!held)
      pthread_cond_signal(&some);
    if (answers) {
      pthread_mutex_lock(&lock);
      while (taken < put)
        pthread_cond_wait(&taken_one, &lock);
      pthread_mutex_unlock(&lock);
    }
    work(gap_ns);
  }
  pthread_join(thread, NULL);
  double ns = now_ns() - begin;
  getrusage(RUSAGE_SELF, &after);
  double cpu_ns = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec +
                           after.ru_stime.tv_sec - before.ru_stime.tv_sec) *
                      1e9 +
                  (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec +
                           after.ru_stime.tv_usec - before.ru_stime.tv_usec) *
                      1e3;
  printf("{\"ns\": %.1f, \"cpu_ns\": %.1f, \"sleeps\": %.4f}\n",
         ns / (double)items, cpu_ns / (double)items,
         (double)(after.ru_nvcsw - before.ru_nvcsw) / (double)items);
}
