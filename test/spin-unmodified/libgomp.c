// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that wait inside of libgomp are seen to wait; those that
// compute are not.
//
// TIMED: 20 samples of each loop, a fifth of which wait
// REQUIRES: host-x86_64, native, spin-unmodified, perf-events
// RUN: gcc -O2 -fopenmp %s -o %t
// RUN: env OMP_NUM_THREADS=2 OMP_WAIT_POLICY=active %python %S/Inputs/check_languages.py waits,c_computes %t
// RUN: env OMP_NUM_THREADS=2 %python %S/Inputs/check_languages.py waits %t

#include <omp.h>
#include <string.h>
#include <time.h>

static volatile double sink;

static void work(int computes) {
  if (computes)
    for (int i = 1; i < 100000000; ++i)
      sink = sink + 1.0 / i;
  else if (omp_get_thread_num() == 0)
    nanosleep(&(struct timespec){0, 20000000}, NULL);
}

int main(int argc, char **argv) {
  for (;;)
#pragma omp parallel
    work(argc > 1 && strcmp(argv[1], "c_computes") == 0);
}
