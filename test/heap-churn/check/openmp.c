// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks in regions of OpenMP, which clang makes functions of their own of.
// REQUIRES: openmp
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-loop-allocation' %s -- -std=gnu11 -fopenmp 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdlib.h>

double use(double *memory, int n);
void keep(double *memory);

double rows(int n) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:19: warning: 'row' is allocated by 'malloc' and released in each iteration of a loop
    double *row = malloc(n * sizeof *row);
    sum += use(row, n);
    free(row);
  }
  return sum;
}
// Not reported: a block for each thread; one that another function keeps.
double once(int n) {
  double sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    double *row = malloc(n * sizeof *row);
#pragma omp for
    for (int i = 0; i < n; i++)
      sum += use(row, n);
    free(row);
#pragma omp for
    for (int i = 0; i < n; i++)
      keep(malloc(n));
  }
  return sum;
}

double tasks(int n) {
  double sum = 0;
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < n; i++)
#pragma omp task shared(sum)
  {
    // CHECK: :[[@LINE+1]]:19: warning: 'row' is allocated by 'malloc' and released in each iteration of a loop
    double *row = malloc(n * sizeof *row);
#pragma omp atomic
    sum += use(row, n);
    free(row);
  }
#pragma omp taskloop
  for (int i = 0; i < n; i++) {
    // CHECK: :[[@LINE+1]]:19: warning: 'row' is allocated by 'malloc' and released in each iteration of a loop
    double *row = malloc(n * sizeof *row);
    use(row, n);
    free(row);
  }
  return sum;
}
// Not reported: one task; one whose block another function keeps.
void few_tasks(int n) {
#pragma omp task
  {
    double *row = malloc(n * sizeof *row);
    use(row, n);
    free(row);
  }
  for (int i = 0; i < n; i++)
#pragma omp task
    keep(malloc(n));
}

//===--- What a region captures -------------------------------------------===//

double captured(double *a, int n, int rounds) {
  double sum = 0;
  for (int r = 0; r < rounds; r++) {
    // CHECK: :[[@LINE+1]]:19: warning: 'row' is allocated by 'malloc' and released in each iteration of a loop
    double *row = malloc(n * sizeof *row);
#pragma omp parallel for
    for (int i = 0; i < n; i++)
      row[i] = a[i] * r;
    sum += use(row, n);
    free(row);
  }
  return sum;
}

// The same by the master of a team that calls the function.
static double *shared;
void of_master(double *a, int n, int rounds) {
  for (int r = 0; r < rounds; r++) {
#pragma omp master
    // CHECK: :[[@LINE+1]]:14: warning: memory is allocated by 'malloc' and released in each iteration of a loop
    shared = malloc(n * sizeof *shared);
#pragma omp barrier
#pragma omp for
    for (int i = 0; i < n; i++)
      shared[i] = a[i] * r;
#pragma omp master
    free(shared);
#pragma omp barrier
  }
}

// Not reported: another function gets the variable, and may keep the block.
void lend(double **row);
void lent(int n, int rounds) {
  for (int r = 0; r < rounds; r++) {
    double *row = malloc(n * sizeof *row);
    lend(&row);
    free(row);
  }
}
