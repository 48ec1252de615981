// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls in the order in which the program runs.
#include "grid.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1 << 24;
  struct grid *g = grid_make(n);
  double *table = malloc(n * sizeof *table), sum;
  grid_fill_table(table, n);
  for (int i = 0; i < 9; i++)
    grid_step(g);
  grid_weigh(g);
  grid_sum(table, n, &sum);
  printf("%g %g\n", sum, grid_names(g));
  return 0;
}
