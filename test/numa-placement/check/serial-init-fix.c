// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fix: a parallel loop that writes what the serial one wrote; and the loops that have none.
// RUN: clang -std=gnu11 -O1 -fopenmp %s -o %t.before
// RUN: cp %s %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-numa-placement-serial-init' --fix %t.c -- -std=gnu11 -fopenmp > %t.out 2>&1
// RUN: grep '^/' %t.out | FileCheck %s --implicit-check-not=warning: --implicit-check-not='no fix'
// RUN: sed '/ FIXED/d;/ CHECK/d' %t.c | FileCheck %s --check-prefix=FIXED --implicit-check-not='for schedule(static)'
// RUN: clang -std=gnu11 -O1 -fopenmp %t.c -o %t.after
// RUN: env OMP_NUM_THREADS=3 %t.before > %t.before.out
// RUN: env OMP_NUM_THREADS=3 %t.after > %t.after.out
// RUN: cmp %t.before.out %t.after.out

#include <stdio.h>
#include <stdlib.h>

enum { N = 20000 };

static double sum_of(const char *name, const double *x) {
  double sum = 0;
  for (int i = 0; i < N; i++)
    sum += x[i] * (i % 7);
  printf("%s %.17g\n", name, sum);
  return sum;
}

static double plain[N], matrix[N][4], scaled[N];
// FIXED-LABEL: void fixed(
void fixed(double c) {
  double *block = malloc(N * sizeof *block);
  // FIXED: {{^  }}#pragma omp parallel for schedule(static)
  // FIXED-NEXT: {{^}}  for (int i = 0; i < N; i++) {
  // CHECK: warning: one thread fills 'plain', 'block' and 'matrix'
  for (int i = 0; i < N; i++) {
    plain[i] = c * i;
    block[i] = i % 3 ? plain[i] : -1.5;
    for (int j = 0; j < 4; j++)
      matrix[i][j] = plain[i] / (j + 1);
  }
#pragma omp parallel for
  for (int k = 0; k < N; k++)
    scaled[k] = plain[k] * 2 + block[k] + matrix[k][1];
  sum_of("fixed", scaled);
  free(block);
}

// Each iteration reads what the one before has written.
static double chain[N];
// FIXED-LABEL: void carried(
void carried(void) {
  chain[0] = 1;
  // CHECK: warning: one thread fills 'chain'
  // CHECK: no fix: its iterations may depend on each other
  for (int i = 1; i < N; i++)
    chain[i] = chain[i - 1] * 1.0001;
#pragma omp parallel for
  for (int i = 1; i < N; i++)
    scaled[i] = chain[i];
  sum_of("carried", scaled);
}

// Two iterations write one element; a scalar goes from one to the next.
static double twice[N], running[N];
// FIXED-LABEL: void more(
void more(void) {
  // CHECK: warning: one thread fills 'twice'
  // CHECK: no fix: its iterations may depend on each other
  for (int i = 0; i < N; i++)
    twice[i / 2] = i;
  double sum = 0;
  // CHECK: warning: one thread fills 'running'
  // CHECK: no fix: its iterations may depend on each other
  for (int i = 0; i < N; i++) {
    sum += i;
    running[i] = sum;
  }
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    scaled[i] = twice[i] + running[i];
  sum_of("more", scaled);
}

// The index is cut off: iterations 256 apart write one element.
static double narrow[N];
// FIXED-LABEL: void cut(
void cut(void) {
  // CHECK: warning: one thread fills 'narrow'
  // CHECK: no fix: its iterations may depend on each other
  for (int i = 0; i < N; i++)
    narrow[(unsigned char)i] = i;
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    scaled[i] = narrow[i];
  sum_of("cut", scaled);
}

// The second pointer leads into the block of the first.
// FIXED-LABEL: void overlap(
void overlap(void) {
  double *x = malloc((N + 1) * sizeof *x), *y = x + 1;
  x[0] = 1;
  // CHECK: warning: one thread fills 'y'
  // CHECK: no fix: its iterations may depend on each other
  for (int i = 0; i < N; i++)
    y[i] = x[i] + 1;
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    scaled[i] = y[i];
  sum_of("overlap", scaled);
  free(x);
}

// Each thread would read its own factor.
static double alike[N], factor = 2;
#pragma omp threadprivate(factor)
// FIXED-LABEL: void private(
void private(void) {
  factor = 3;
  // CHECK: warning: one thread fills 'alike'
  // CHECK: no fix: its iterations may depend on each other
  for (int i = 0; i < N; i++)
    alike[i] = factor * i;
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    scaled[i] = alike[i];
  sum_of("private", scaled);
}

// The loop that uses it gives its iterations out one by one.
static double dynamic[N];
// FIXED-LABEL: void scheduled(
void scheduled(void) {
  // CHECK: warning: one thread fills 'dynamic'
  // CHECK: no fix: the loop that uses it has no static schedule
  for (int i = 0; i < N; i++)
    dynamic[i] = i;
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < N; i++)
    scaled[i] = dynamic[i];
  sum_of("scheduled", scaled);
}

// No parallel region may be in one of simd.
static double within[N];
// FIXED-LABEL: void vectors(
void vectors(void) {
#pragma omp simd
  for (int k = 0; k < 2; k++) {
    // CHECK: warning: one thread fills 'within'
    // CHECK: no fix: no directive can be inserted here
    for (int i = 0; i < N; i++)
      within[i] = i;
  }
#pragma omp parallel for
  for (int i = 0; i < N; i++)
    scaled[i] = within[i];
  sum_of("vectors", scaled);
}

// The counter is used after the loop.
static double counted[N];
// FIXED-LABEL: void counter(
void counter(void) {
  int i;
  // CHECK: warning: one thread fills 'counted'
  // CHECK: no fix: the loop is not of the form
  for (i = 0; i < N; i++)
    counted[i] = i;
  printf("counter %d\n", i);
#pragma omp parallel for
  for (int k = 0; k < N; k++)
    scaled[k] = counted[k];
  sum_of("counter", scaled);
}

int main(void) {
  fixed(1.25);
  carried();
  more();
  cut();
  overlap();
  private();
  scheduled();
  vectors();
  counter();
  return 0;
}
