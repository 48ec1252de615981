// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads use what grid.c has filled.
#include "grid.h"

void grid_step(struct grid *g) {
#pragma omp parallel for
  for (long i = 0; i < g->n; i++)
    g->cells[i] += 1;
}

// The threads write these first, and so place them.
void grid_weigh(struct grid *g) {
#pragma omp parallel for
  for (long i = 0; i < g->n; i++)
    g->weights[i] = i;
}

void grid_sum(const double *table, long n, double *sum) {
  double all = 0;
#pragma omp parallel for reduction(+ : all)
  for (long i = 0; i < n; i++)
    all += table[i];
  *sum = all;
}

double grid_names(struct grid *g) {
  double all = 0;
  for (long i = 0; i < g->n; i++)
    all += g->names[i];
  return all;
}
