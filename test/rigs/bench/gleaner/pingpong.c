/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * pingpong SECONDS WORK_NS PAIRS free|pinned|busy [WARM_UP]: pairs of threads
 * that compute in turn and sleep on a futex between. "pinned" holds the two of
 * each pair on CPUs 0 and 1; "busy" threads compute WORK_NS steps, a number
 * that no calibration changes from run to run, and never wait. Prints rounds
 * per second after WARM_UP seconds. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "marks.h"
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static atomic_int stop;
static int pinned, busy;
static long work_ns;
static double loops_per_ns;

struct pair {
  _Alignas(128) atomic_int turn;
  atomic_long rounds;
};
struct player {
  struct pair *pair;
  int me;
};

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void compute(long loops) {
  for (long i = 0; i < loops; ++i)
    __asm__ volatile("" ::: "memory");
}

/* The fastest of many: while the host takes the CPU, or another thread shares
 * its core, a single measurement makes the work of this run up to three times
 * shorter than that of the next. */
static void calibrate(void) {
  enum { LOOPS = 200000, TIMES = 50 };
  for (int i = 0; i < TIMES; ++i) {
    double begin = cpu_ns();
    compute(LOOPS);
    double rate = LOOPS / (cpu_ns() - begin);
    loops_per_ns = rate > loops_per_ns ? rate : loops_per_ns;
  }
}

static void *play(void *data) {
  struct player *player = data;
  struct pair *pair = player->pair;
  if (pinned) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(player->me, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
      perror("sched_setaffinity");
  }
  long loops = busy ? work_ns : (long)((double)work_ns * loops_per_ns);
  while (!atomic_load(&stop)) {
    if (!busy && atomic_load(&pair->turn) != player->me) {
      syscall(SYS_futex, &pair->turn, FUTEX_WAIT_PRIVATE, !player->me, NULL,
              NULL, 0);
      continue;
    }
    compute(loops);
    if (player->me == 0)
      atomic_fetch_add(&pair->rounds, 1);
    if (busy)
      continue;
    atomic_store(&pair->turn, !player->me);
    syscall(SYS_futex, &pair->turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  }
  return NULL;
}

static long sum(struct pair *pairs, int n) {
  long rounds = 0;
  for (int i = 0; i < n; ++i)
    rounds += atomic_load(&pairs[i].rounds);
  return rounds;
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  double seconds = atof(argv[1]);
  work_ns = atol(argv[2]);
  int n = atoi(argv[3]);
  pinned = strcmp(argv[4], "pinned") == 0;
  busy = strcmp(argv[4], "busy") == 0;
  calibrate();
  struct pair *pairs = calloc((size_t)n, sizeof *pairs);
  for (int i = 0; i < 2 * n; ++i) {
    struct player *player = malloc(sizeof *player);
    *player = (struct player){&pairs[i / 2], i % 2};
    pthread_t thread;
    if (pthread_create(&thread, NULL, play, player) != 0)
      return 1;
  }
  usleep((useconds_t)((argc > 5 ? atof(argv[5]) : 0) * 1e6));
  long before = sum(pairs, n);
  mark(1);
  usleep((useconds_t)(seconds * 1e6));
  long rounds = sum(pairs, n) - before;
  mark(2);
  printf("{\"rate\": %.1f, \"rounds\": %ld}\n", (double)rounds / seconds,
         rounds);
  fflush(stdout);
  _exit(0);
}
