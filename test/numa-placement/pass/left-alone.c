// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What placing would not help, or what is not known well enough. The comment of each says why.
//
// RUN: %verify_c %s -o - | FileCheck %s
// CHECK-NOT: vf_numa

#include <stdlib.h>

enum { N = 1 << 20 };

// Its users touch it first, each its own pages: placed already.
static double first_parallel[N];

double parallel_first(void) {
#pragma omp parallel for
  for (int i = 0; i < N; ++i)
    first_parallel[i] = i; // expected-remark {{'first_parallel' (8388608 bytes) is not placed: the threads that use it write it first}}
  for (int i = 0; i < N; ++i)
    first_parallel[i] += 1;
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < N; ++i)
    sum += first_parallel[i];
  return sum;
}

// No thread but the one that writes it uses it: it lies where it should.
static double serial_only[N], other[N];

double no_region_uses_it(int n) {
  for (int i = 0; i < n; ++i)
    serial_only[i] = n;
#pragma omp parallel for
  for (int i = 0; i < N; ++i)
    other[i] = 1; // expected-remark {{'other' (8388608 bytes) is not placed: the threads that use it write it first}}
  return serial_only[n / 2] + other[n / 2];
}

// A few pages: less than a system call is worth.
static double small[1024];

void small_array(int n) {
  for (int i = 0; i < 1024; ++i)
    small[i] = n; // expected-remark {{'small' (8192 bytes) is not placed, although serial code writes it first: it is smaller than 65536}}
#pragma omp parallel for
  for (int i = 0; i < 1024; ++i)
    small[i] += 1;
}

// One page of many is written by serial code, the rest by threads.
static double few[N];

double few_elements(int n) {
  few[0] = 1;
#pragma omp parallel for
  for (int i = 1; i < N; ++i)
    few[i] = i; // expected-remark {{'few' (8388608 bytes) is not placed: the threads that use it write it first}}
  return few[n];
}

// Which row is written first, and by whom, is not told apart.
void table_of_pointers(double **rows, long n) {
  for (long i = 0; i < n; ++i)
    rows[i] = malloc(n * sizeof **rows);
  for (long j = 0; j < n; ++j)
    rows[3][j] = 0;
#pragma omp parallel for
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < n; ++j)
      rows[i][j] += 1;
}

// The table itself is small: as many pointers as there are threads, or rows.
void table_itself(long rows, long n) {
  double **row = malloc(rows * sizeof *row);
  for (long i = 0; i < rows; ++i)
    row[i] = malloc(n * sizeof **row); // expected-remark {{'row' is not placed: it holds pointers, and is small compared with the memory that they lead to}}
#pragma omp parallel for
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < n; ++j)
      row[i][j] = 1;
#pragma omp parallel for
  for (long i = 0; i < rows; ++i)
    free(row[i]);
  free(row);
}

// Its author says so.
static double kept[N];

__attribute__((annotate("vfriendly:keep"))) void author_keeps_it(int n) {
  for (int i = 0; i < N; ++i)
    kept[i] = n; // expected-remark {{serial code writes 'kept' (8388608 bytes) first, so that its pages lie on one node, and a parallel region uses it; not placed: its author keeps it}}
#pragma omp parallel for
  for (int i = 0; i < N; ++i)
    kept[i] += 1;
}

// Of each thread's own memory the thread is the first user.
double own(long n) {
  double sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    double *mine = malloc(n * sizeof *mine);
    for (long i = 0; i < n; ++i)
      mine[i] = i; // expected-remark {{'mine' is not placed: the threads that use it write it first}}
    for (long i = 0; i < n; ++i)
      sum += mine[i];
    free(mine);
  }
  return sum;
}

// Serial code writes the first vector by the same functions; of the second, threads write first.
struct vector {
  double *values;
  long n;
};

static __attribute__((noinline)) void smooth(struct vector *x) {
  for (long i = 1; i < x->n; ++i)
    x->values[i] += x->values[i - 1];
}

static __attribute__((noinline)) void relax(struct vector *x) {
  smooth(x);
  x->n--;
}

static __attribute__((noinline)) void multiply(struct vector *y, double by) {
#pragma omp parallel for
  for (long i = 0; i < y->n; ++i)
    y->values[i] = i * by; // expected-remark {{'b' is not placed: the threads that use it write it first}}
}

double vectors(long n) {
  struct vector a = {malloc(n * sizeof(double)), n}, b = {malloc(n * sizeof(double)), n};
  relax(&a);
  multiply(&b, 3);
  relax(&b);
  return a.values[n / 2] + b.values[n / 2];
}
