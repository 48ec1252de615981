// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A timed spin that is entered again until the flag is there. Its polls yield, and it ends at
// its time.
//
// RUN: %spin_exec --tsan clean

#include <stdatomic.h>
#include <time.h>

static int threads;
static atomic_int flag;
static void raise_flag(int round) { atomic_store(&flag, round); }
static int await_for(int round, long nanoseconds) {
  struct timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (atomic_load(&flag) != round) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - start.tv_sec) * 1000000000L + now.tv_nsec -
            start.tv_nsec > nanoseconds)
      return 0;
  }
  return 1;
}
static void await(int round) {
  while (!await_for(round, 100000)) {}
}

#define KIND_FLAG
#include "harness.h"
