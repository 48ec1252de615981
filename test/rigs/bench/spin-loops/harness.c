/*===- harness.c - main() of the wait benchmarks and the soak ------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * See harness.h.
 *===----------------------------------------------------------------------===*/

#include "harness.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int threads;
static long rounds;
static atomic_int arrived;

static struct OWN_LINE worker {
  pthread_t thread;
  int self;
  long mismatches;
  long long ended;
} workers[MAX_THREADS];

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void *run_worker(void *argument) {
  struct worker *me = argument;
  atomic_fetch_add(&arrived, 1);
  me->mismatches = workload_run(me->self, threads, rounds);
  me->ended = now_ns();
  return NULL;
}

static void nap(void) {
  nanosleep(&(struct timespec){.tv_nsec = 200 * 1000}, NULL);
}

/* Returns the number, or exits with status 2. */
static long parse(const char *what, const char *text, long most) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno || *end || end == text || value < 1 || value > most) {
    fprintf(stderr, "%s: '%s' is not a number from 1 to %ld\n", what, text,
            most);
    exit(2);
  }
  return value;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s THREADS ROUNDS\n", argv[0]);
    return 2;
  }
  threads = (int)parse("THREADS", argv[1], MAX_THREADS);
  /* Rounds times threads fits an int, which is what tickets are. */
  rounds = parse("ROUNDS", argv[2], 0x7fffffff / MAX_THREADS);
  workload_prepare(threads);
  for (int i = 0; i < threads; i++) {
    workers[i].self = i;
    int error =
        pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
    if (error) {
      fprintf(stderr, "pthread_create: %s\n", strerror(error));
      return 2;
    }
  }
  while (atomic_load(&arrived) < threads)
    nap();
  nap(); /* from having arrived to waiting is a few instructions */
  long long began = now_ns(), ended = 0;
  workload_open(threads);
  long mismatches = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    mismatches += workers[i].mismatches;
    if (workers[i].ended > ended)
      ended = workers[i].ended;
  }
  mismatches += workload_verify(threads, rounds);
  printf("{\"threads\": %d, \"rounds\": %ld, \"ns\": %lld}\n", threads, rounds,
         ended - began);
  if (mismatches)
    fprintf(stderr, "%s: %ld payloads did not arrive\n", argv[0], mismatches);
  return mismatches != 0;
}
