/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * regions MILLISECONDS THREADS...: parallel regions of some 10 us each, one
 * after another, for so long with each number of threads, after as long a time
 * that does not count. */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double sum;

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long regions(double for_seconds, int threads) {
  double end = seconds(CLOCK_MONOTONIC) + for_seconds;
  long n = 0;
  for (; seconds(CLOCK_MONOTONIC) < end; n++) {
#pragma omp parallel for reduction(+ : sum) num_threads(threads)
    for (int j = 0; j < 20000; j++)
      sum += 1.0 / (1 + j);
  }
  return n;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  double length = atof(argv[1]) / 1e3;
  printf("{\"parts\": {");
  for (int i = 2; i < argc; i++) {
    int threads = atoi(argv[i]);
    regions(length, threads);
    double begin = seconds(CLOCK_MONOTONIC),
           used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    long n = regions(length, threads);
    printf("%s\"%d threads\": {\"us\": %.3f, \"cpu_us\": %.3f}",
           i == 2 ? "" : ", ", threads,
           (seconds(CLOCK_MONOTONIC) - begin) * 1e6 / (double)n,
           (seconds(CLOCK_PROCESS_CPUTIME_ID) - used) * 1e6 / (double)n);
  }
  printf("}, \"sum\": %f}\n", sum);
  return 0;
}
