// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// turns TURNS: two threads that take turns by a flag, as fast as they can.
// Prints nanoseconds per turn of both.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static atomic_int turn;
static long turns;

static void take(int mine) {
  for (long i = 0; i < turns; ++i) {
    while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
      ;
    atomic_store_explicit(&turn, !mine, memory_order_release);
  }
}

static void *other(void *unused) {
  take(1);
  return unused;
}

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  pthread_t thread;
  turns = argc > 1 ? atol(argv[1]) : 1;
  double begin = now_ns();
  if (pthread_create(&thread, NULL, other, NULL) != 0)
    return 1;
  take(0);
  pthread_join(thread, NULL);
  printf("{\"ns\": %.1f}\n", (now_ns() - begin) / (double)turns);
}
