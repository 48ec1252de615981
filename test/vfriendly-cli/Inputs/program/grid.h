// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays that grid.c fills and threads.c uses.
struct grid {
  long n;
  double *cells, *weights, *names;
};

struct grid *grid_make(long n);
void grid_fill_table(double *table, long n);
void grid_step(struct grid *g);
void grid_weigh(struct grid *g);
void grid_sum(const double *table, long n, double *sum);
double grid_names(struct grid *g);
