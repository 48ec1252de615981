/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * jump THREADS PATIENCE_S: four threads that compute and sleep by turns, until
 * they have been confined to fewer CPUs for HELD_NS; then THREADS more that
 * compute. Prints how long it took until all CPUs were back, or
 * {"folded": false}.
 *
 * For gleaner, progress is the number of calls of `done`: more while confined,
 * so that the fold is kept on hosts where it gains nothing, too. It is the way
 * back that is measured. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A trial's windows take 0.4 s at most; what is held for longer was kept. */
#define HELD_NS 600e6
#define POLL_US 500
/* Some 20 us of work each 270 us, as the kernel adds 50 to a sleep: together a
 * third of a CPU, in short pieces on all of them. Two threads that hand over to
 * each other do not serve: beside other work Linux puts both on one CPU, of
 * which there is nothing to take. */
#define WORKERS 4
#define LOOPS 50000
#define PAUSE_US 200
/* The first sleep. Before it each has a CPU of its own, on which it stays. */
#define APART_US 10000

static cpu_set_t all;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void compute(long loops) {
  for (long i = 0; i < loops; ++i)
    __asm__ volatile("" ::: "memory");
}

static void run_on(int nth) {
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && nth >= 0; ++cpu)
    if (CPU_ISSET(cpu, &all) && nth-- == 0)
      CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void *work(void *data) {
  run_on((int)((long)data % CPU_COUNT(&all)));
  usleep(APART_US);
  sched_setaffinity(0, sizeof all, &all);
  for (;;) {
    compute(LOOPS);
    usleep(PAUSE_US);
  }
  return data;
}

static void *busy(void *data) {
  for (;;)
    compute(LOOPS);
  return data;
}

__attribute__((noinline)) static void done(void) { __asm__ volatile(""); }

static int cpus(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  sched_getaffinity(0, sizeof all, &all);
  int threads = atoi(argv[1]), n_all = cpus();
  double begin = now_ns(), folded = 0;
  pthread_t thread;
  for (long i = 0; i < WORKERS; ++i)
    if (pthread_create(&thread, NULL, work, (void *)i) != 0)
      return 1;
  while (!folded || now_ns() - folded < HELD_NS) {
    if (now_ns() - begin > atof(argv[2]) * 1e9) {
      puts("{\"folded\": false}");
      return 0;
    }
    usleep(POLL_US);
    done();
    for (int i = 0; i < 2 && cpus() < n_all; ++i)
      done();
    if (cpus() == n_all)
      folded = 0;
    else if (!folded)
      folded = now_ns();
  }
  int kept = cpus();
  double jump = now_ns();
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&thread, NULL, busy, NULL) != 0)
      return 1;
  while (cpus() < n_all)
    usleep(POLL_US);
  printf("{\"folded\": true, \"cpus\": %d, \"kept\": %d, \"back_ms\": %.1f}\n",
         n_all, kept, (now_ns() - jump) / 1e6);
  fflush(stdout);
  _exit(0);
}
