// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays that one thread fills and a team uses, and beside each what is placed already.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-serial-init' %s -- -std=gnu11 -fopenmp -I%vf_include 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning: --implicit-check-not=note:

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <vfriendly/numa.h>

double value(long i);

// example: serial
double sum_of(long n) {
  double *x = malloc(n * sizeof *x);
  // CHECK: :[[@LINE+2]]:3: warning: one thread fills 'x' before several use it: all pages lie on one node; fill in parallel, as it is used (guidelines/numa-placement.md) [vfriendly-numa-placement-serial-init]
  // CHECK: :[[@LINE+6]]:12: note: threads use 'x' here
  for (long i = 0; i < n; i++)
    x[i] = 1;
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; i++)
    sum += x[i];
  free(x);
  return sum;
}
// example end

// example: parallel
double sum_in_place(long n) {
  double *x = malloc(n * sizeof *x);
#pragma omp parallel for schedule(static)
  for (long i = 0; i < n; i++)
    x[i] = 1;
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; i++)
    sum += x[i];
  free(x);
  return sum;
}
// example end

// Two arrays of one loop, through functions and parameters.
enum { N = 1 << 20 };
static double a[N], b[N];
static void fill(double *to, double *too) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'to' and 'too' before several use them
  // CHECK: note: threads use 'x' here
  // CHECK: :[[@LINE+1]]:3: note: no fix: the loop that uses it has other bounds
  for (long i = 1; i < N; i++) {
    to[i] = i;
    too[i] = -i;
  }
}
static double product(const double *x, const double *y, long n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}
double whole(void) {
  fill(a, b);
  return product(a, b, N);
}

// An orphaned worksharing loop that one thread calls is a serial one.
static double orphan[N];
static void zero(void) {
  // CHECK: :[[@LINE+4]]:3: warning: one thread fills 'orphan'
  // CHECK: note: threads use 'orphan' here
  // CHECK: note: no fix: its iterations may depend on each other
#pragma omp for
  for (long i = 0; i < N; i++)
    orphan[i] = value(i);
}
double called_serially(void) {
  double sum = 0;
  zero();
#pragma omp parallel for reduction(+ : sum)
  for (long i = 0; i < N; i++)
    sum += orphan[i];
  return sum;
}

// Threads of pthread_create, by a field of their argument.
struct work {
  double *data;
  long from, to;
};
static void *scale(void *arg) {
  struct work *work = arg;
  for (long i = work->from; i < work->to; i++)
    work->data[i] *= 2;
  return 0;
}
void start(pthread_t *threads, long n, int count) {
  double *data = malloc(n * sizeof *data);
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'data'
  // CHECK: note: threads use 'data' here
  // CHECK: :[[@LINE+1]]:3: note: no fix: the loop that uses it has no static schedule
  for (long i = 0; i < n; i++)
    data[i] = 1;
  struct work *all = malloc(count * sizeof *all);
  for (int t = 0; t < count; t++) {
    all[t].data = data;
    all[t].from = n / count * t;
    all[t].to = n / count * (t + 1);
    pthread_create(&threads[t], 0, scale, &all[t]);
  }
}

// Not reported: less than 64 KiB.
void small(double *out) {
  static double table[1000];
  double *block = malloc(1000 * sizeof *block);
  for (int i = 0; i < 1000; i++)
    table[i] = block[i] = i;
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    out[i] = table[i % 1000] + block[i % 1000];
}

// Not reported: threads write it first; a serial loop that changes it comes too late.
static double first[N];
void threads_first(void) {
#pragma omp parallel for
  for (long i = 0; i < N; i++)
    first[i] = 0;
  for (long i = 0; i < N; i++)
    first[i] += i;
#pragma omp parallel for
  for (long i = 0; i < N; i++)
    first[i] *= 2;
}

// Not reported: the program places it; another file may have written it; one
// thread uses it, or all of them, but each by its number.
void file_of_other(double *x, long n);
void elsewhere(long n, int threads) {
  double *placed = malloc(n * sizeof *placed), *theirs = malloc(n * sizeof *theirs);
  double *alone = malloc(n * sizeof *alone), *sums = malloc(threads * sizeof *sums);
  vf_numa_place(placed, n * sizeof *placed, VF_NUMA_R4K);
  file_of_other(theirs, n);
  for (long i = 0; i < n; i++)
    placed[i] = theirs[i] = alone[i] = i;
  for (int t = 0; t < threads; t++)
    sums[t] = 0;
#pragma omp parallel
  {
    double sum = 0;
#pragma omp for
    for (long i = 0; i < n; i++)
      sum += placed[i] + theirs[i];
#pragma omp single
    for (long i = 0; i < n; i++)
      sum += alone[i];
    sums[threads - 1] += sum;
  }
}

// Not reported: a serial loop where the parallel one would not pay.
double either(const int *wanted, long n) {
  double *x = malloc(n * sizeof *x), sum = 0;
  if (n < 1000)
    for (long i = 0; i < n; i++)
      x[i] = sum += wanted[i];
  else
#pragma omp parallel for
    for (long i = 0; i < n; i++)
      x[i] = wanted[i];
  return x[0];
}

// Not reported: each thread has an array of this name.
static double mine[N];
#pragma omp threadprivate(mine)
void of_each(double *out) {
  for (long i = 0; i < N; i++)
    mine[i] = i;
#pragma omp parallel for copyin(mine)
  for (long i = 0; i < N; i++)
    out[i] = mine[i];
}

// Not reported: rows of a table of pointers, each a block of its own.
void rows(double **table, long n) {
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      table[i][j] = 0;
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    for (long j = 0; j < n; j++)
      table[i][j] += 1;
}
static double *buckets[1024 * 16];
void one_row_each(void) {
  for (int t = 0; t < 1024 * 16; t++)
    buckets[t] = malloc(N * sizeof(double));
#pragma omp parallel for
  for (int t = 0; t < 1024 * 16; t++) {
    double *bucket = buckets[t];
    for (long i = 0; i < N; i++)
      bucket[i] = 0;
  }
}

// Not reported: its author says so.
__attribute__((annotate("vfriendly:keep"))) void kept(double *x, long n) {
  for (long i = 0; i < n; i++)
    x[i] = 0;
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    x[i] += 1;
}

// Not reported: tables beside the data of a nest. Each thread reads all columns, and
// an inner loop uses one row's entry for each column.
void tables(double *from, double *to, long rows, long columns) {
  int *north = malloc(rows * sizeof *north), *west = malloc(columns * sizeof *west);
  for (long i = 0; i < rows; i++)
    north[i] = i ? i - 1 : 0;
  for (long j = 0; j < columns; j++)
    west[j] = j ? j - 1 : 0;
#pragma omp parallel for
  for (long i = 0; i < rows; i++)
    for (long j = 0; j < columns; j++)
      to[i * columns + j] = from[north[i] * columns + j] - from[i * columns + west[j]];
}

// Reported: the inner loop's bounds depend on the outer one, so that each element is
// used once; and three uses one after another are no reuse.
void sparse(double *sums, const long *begin, const double *x, long n, long nonzeros) {
  double *values = malloc(nonzeros * sizeof *values), *weights = malloc(n * sizeof *weights);
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'values' before
  // CHECK-NEXT: :[[@LINE+11]]:18: note: threads use 'values' here
  // CHECK-NEXT: :[[@LINE+1]]:3: note: no fix:
  for (long i = 0; i < nonzeros; i++)
    values[i] = 1;
  // CHECK-NEXT: :[[@LINE+2]]:3: warning: one thread fills 'weights' before
  // CHECK-NEXT: :[[@LINE+8]]:18: note: threads use 'weights' here
  for (long i = 0; i < n; i++)
    weights[i] = 2;
#pragma omp parallel for
  for (long i = 0; i < n; i++) {
    for (long k = begin[i]; k < begin[i + 1]; k++)
      sums[i] += values[k];
    for (int d = 0; d < 3; d++)
      sums[i] += weights[i] * x[d];
  }
}

// Not reported: the loop writes one member of structures that are larger than a page, and
// each thread writes the rest of its own.
struct owned {
  long *begin;
  double work[8192];
};

void own(long *table) {
  static struct owned all[64];
  for (int i = 0; i < 64; i++)
    all[i].begin = table;
#pragma omp parallel for
  for (int i = 0; i < 64; i++)
    all[i].work[0] = (double)*all[i].begin;
}

// Reported: the structures are smaller than a page.
struct near {
  long *begin;
  double work[100];
};

void beside(long *table) {
  static struct near all[1024];
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'all' before
  // CHECK-NEXT: :[[@LINE+6]]:5: note: threads use 'all' here
  // CHECK-NEXT: :[[@LINE+1]]:3: note: no fix: its iterations may depend on each other
  for (int i = 0; i < 1024; i++)
    all[i].begin = table;
#pragma omp parallel for
  for (int i = 0; i < 1024; i++)
    all[i].work[0] = (double)*all[i].begin;
}

// A loop that calls something else stays one.
int next_number(void);
void read_marks(int n) {
  int *first = malloc(n * sizeof *first);
  char *marks = malloc(n);
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'marks' and 'first'
  // CHECK: note: threads use
  // CHECK: note: no fix:
  for (int i = 0; i < n; i++) {
    first[i] = next_number();
    marks[i] = 0;
  }
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    marks[i] = first[i] > 0;
  free(first);
  free(marks);
}

// Not reported: compilers turn malloc and these loops into calloc, which touches no page.
struct atoms {
  double *x;
  long n;
};
static struct atoms *make(long n) {
  struct atoms *made = malloc(sizeof *made);
  made->n = n;
  made->x = malloc(n * sizeof(double));
  for (long i = 0; i < n; i++)
    made->x[i] = 0;
  return made;
}
void step(long n, int threads) {
  struct atoms *all = make(n);
  char *marks = malloc(n);
  memset(marks, 0, n);
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    all->x[i] += marks[i];
}
// Reported: other values; memory that another function has allocated.
void other_values(long n, double *given) {
  double *ones = malloc(n * sizeof *ones);
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'ones' and 'given' before
  // CHECK: note: threads use 'ones' here
  // CHECK: note: no fix: its iterations may depend on each other
  for (long i = 0; i < n; i++) {
    ones[i] = 1;
    given[i] = 0;
  }
#pragma omp parallel for
  for (long i = 0; i < n; i++)
    ones[i] += given[i];
}

// Not reported: the bounds of the parameter say that it is small.
void bounded(double x[1000], double *y, int n) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'y' before several use it
  // CHECK: note: threads use 'y' here
  // CHECK: note:
  for (int i = 0; i < n; i++) {
    x[i] = i;
    y[i] = i + 1;
  }
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < n; i++)
    y[i] += x[i];
}
// Reported: a matrix that each iteration of an inner loop uses again. Not its one value for each row.
void weights(long rows, long columns, long samples, double *w, double *scale, const double *x, double *y) {
  // CHECK: :[[@LINE+3]]:3: warning: one thread fills 'w' before several use it
  // CHECK: note: threads use 'w' here
  // CHECK: note: no fix:
  for (long i = 0; i < rows * columns; i++)
    w[i] = value(i);
  for (long i = 0; i < rows; i++)
    scale[i] = value(i);
#pragma omp parallel for
  for (long i = 0; i < rows; i++)
    for (long s = 0; s < samples; s++)
      for (long j = 0; j < columns; j++)
        y[s * rows + i] += scale[i] * w[i * columns + j] * x[s * columns + j];
}
