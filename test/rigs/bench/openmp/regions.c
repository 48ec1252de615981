/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * regions MILLISECONDS: parallel regions of some 10 us each, one after another,
 * for so long. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  double sum = 0, begin = seconds(CLOCK_MONOTONIC), end = begin + atof(argv[1]) / 1e3;
  long regions = 0;
  for (; seconds(CLOCK_MONOTONIC) < end; regions++) {
#pragma omp parallel for reduction(+ : sum)
    for (int j = 0; j < 20000; j++)
      sum += 1.0 / (1 + j);
  }
  printf("{\"us\": %.3f, \"cpu_us\": %.3f, \"sum\": %f}\n",
         (seconds(CLOCK_MONOTONIC) - begin) * 1e6 / (double)regions,
         seconds(CLOCK_PROCESS_CPUTIME_ID) * 1e6 / (double)regions, sum);
  return 0;
}
