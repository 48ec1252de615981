// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes beside others' elements, once for each element of the data, for each item of a queue and for each phase.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-shared-line' %s -- -std=gnu11 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <omp.h>

// Reported: a write for each element, however long the thread works on it.
int take(long *item);
void work(long item);
void elements(long *batch, long *handled, const double *x, double *out, long n) {
#pragma omp parallel
  {
    int me = omp_get_thread_num();
    for (long i = 0; i < n; i++) {
      double sum = 0;
      for (long j = 0; j < n; j++)
        sum += x[j];
      out[i] = sum;
      // CHECK: :[[@LINE+2]]:7: warning: threads write neighbouring elements of 'batch' in loops, 8 bytes each
      // CHECK: note: no fix:
      batch[me]++;
    }
    long left = n;
    while (left > 0) {
      work(left--);
      // CHECK: :[[@LINE+2]]:7: warning: threads write neighbouring elements of 'handled' in loops, 8 bytes each
      // CHECK: note: no fix:
      handled[me]++;
    }
  }
}
// Not reported: a write for each item that the thread has to get, and for each phase.
void phase(long i);
void wait_for_all(void);
void batches(long *items, long *phases, long *steps, long n) {
#pragma omp parallel
  {
    int me = omp_get_thread_num();
    long item;
    while (take(&item))
      items[me]++;
    for (long i = 0; i < n; i++) {
#pragma omp for
      for (long j = 0; j < n; j++)
        phase(j);
      phases[me]++;
    }
    for (long i = 0; i < n; i++) {
      phase(i);
      wait_for_all();
      steps[me]++;
    }
  }
}
// Not reported: written only for a new maximum.
void largest(double *most, const double *x, long n) {
#pragma omp parallel
  {
    int me = omp_get_thread_num();
#pragma omp for
    for (long i = 0; i < n; i++)
      if (x[i] > most[me])
        most[me] = x[i];
  }
}
// Reported: a short function beside it.
static long twice(long x) { return 2 * x; }
void beside_short(long *sums, long n) {
#pragma omp parallel
  for (long i = 0; i < n; i++)
    // CHECK: :[[@LINE+2]]:5: warning: threads write neighbouring elements of 'sums' in loops, 8 bytes each
    // CHECK: note: no fix:
    sums[omp_get_thread_num()] += twice(i);
}
