// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread fills arrays; which of them threads use is known in threads.c and main.c only.
#include "grid.h"

#include <stdlib.h>

struct grid *grid_make(long n) {
  struct grid *g = malloc(sizeof *g);
  g->n = n;
  g->cells = malloc(n * sizeof *g->cells);
  g->weights = malloc(n * sizeof *g->weights);
  g->names = malloc(n * sizeof *g->names);
  for (long i = 0; i < n; i++) { // want: serial-init
    g->cells[i] = i;
    g->names[i] = i * 2.0; // Only one thread reads the names.
  }
  return g;
}

void grid_fill_table(double *table, long n) {
  for (long i = 0; i < n; i++) // want: serial-init
    table[i] = 1.0 / (i + 1);
}
