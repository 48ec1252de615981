/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the programs of this benchmark share: clocks, work of about so long, and
 * the line that they print.
 *
 *   double begin = wall(), used = cpu();
 *   while (wall() - begin < seconds) { work(500); units++; }
 *   report(wall() - begin, cpu() - used, units); */

#ifndef VF_BENCH_POOLS_TIMING_H
#define VF_BENCH_POOLS_TIMING_H

#include <stdio.h>
#include <time.h>

static inline double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static inline double wall(void) { return seconds_of(CLOCK_MONOTONIC); }
static inline double cpu(void) { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

/* Each step depends on the last one and takes about 1 ns. */
static inline void work(long steps) {
  unsigned long x = 1;
  for (long i = 0; i < steps; i++) {
    x = x * 6364136223846793005ul + 1;
    __asm__ volatile("" : "+r"(x));
  }
}

static inline void report(double wall_s, double cpu_s, long units) {
  printf("{\"us\": %.3f, \"cpu_us\": %.3f}\n", wall_s * 1e6 / (double)units,
         cpu_s * 1e6 / (double)units);
}

#endif
