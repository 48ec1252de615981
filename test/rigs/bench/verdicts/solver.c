// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conjugate gradients for the five-point Laplacian: solver SIZE ITERATIONS. Each iteration has
// three parallel loops, at whose ends the threads wait for each other.

#include <stdio.h>
#include <stdlib.h>

static double dot(const double *a, const double *b, int n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

int main(int argc, char **argv) {
  int size = argc > 1 ? atoi(argv[1]) : 0, iterations = argc > 2 ? atoi(argv[2]) : 0;
  if (size < 3 || size > 10000)
    return 2;
  int n = size * size;
  double *x = calloc(n, sizeof *x), *r = calloc(n, sizeof *r), *p = calloc(n, sizeof *p), *q = calloc(n, sizeof *q);
  if (!x || !r || !p || !q)
    return 1;
  for (int i = size; i < n - size; i++)
    r[i] = p[i] = i % 7;
  double old = dot(r, r, n);
  for (int k = 0; k < iterations; k++) {
#pragma omp parallel for
    for (int i = size; i < n - size; i++)
      q[i] = 4 * p[i] - p[i - 1] - p[i + 1] - p[i - size] - p[i + size];
    double alpha = old / dot(p, q, n);
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
    }
    double now = dot(r, r, n), beta = now / old;
    old = now;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
      p[i] = r[i] + beta * p[i];
  }
  printf("%g\n", old);
  return 0;
}
