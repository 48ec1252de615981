// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The examples of guidelines/numa-placement.md: the pass places the first and has nothing to
// do for the second.
//
// RUN: %verify_c %s -o /dev/null

#include <stdlib.h>

// example: bad
double sum_of(long n) {
  double *x = malloc(n * sizeof *x);
  for (long i = 0; i < n; ++i)
    x[i] = 1; // expected-remark {{'x', which serial code writes first and a parallel region uses, is placed in blocks}}
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; ++i)
    sum += x[i];
  free(x);
  return sum;
}
// example end

// example: good
double sum_in_place(long n) {
  double *x = malloc(n * sizeof *x);
#pragma omp parallel for
  for (long i = 0; i < n; ++i)
    x[i] = 1; // expected-remark {{'x' is not placed: the threads that use it write it first}}
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; ++i)
    sum += x[i];
  free(x);
  return sum;
}
// example end
