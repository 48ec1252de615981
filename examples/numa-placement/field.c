/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * field [N]: a field that one thread fills and a team smooths. At the end it
 * says on which node each share of the field's pages lies. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NODES = 8, PAGE = 4096 };

static void print_nodes(const char *name, double *field, long n) {
  long pages[NODES] = {0}, all = 0;
  for (long i = 0; i < n; i += PAGE / (long)sizeof *field, ++all) {
    void *page = (void *)((size_t)&field[i] & ~(size_t)(PAGE - 1));
    int node = -1;
    if (syscall(SYS_move_pages, 0, 1ul, &page, NULL, &node, 0) == 0 &&
        node >= 0 && node < NODES)
      ++pages[node];
  }
  printf("%s:", name);
  for (int i = 0; i < NODES; ++i)
    if (pages[i] != 0)
      printf(" node %d %.1f %%", i, 100.0 * (double)pages[i] / (double)all);
  printf("\n");
}

int main(int argc, char **argv) {
  long n = argc > 1 ? atol(argv[1]) : 1l << 22;
  if (n < 3) {
    fprintf(stderr, "field: N is a number of at least 3, not '%s'\n", argv[1]);
    return 2;
  }
  double *field = malloc((size_t)n * sizeof *field);
  double *next = malloc((size_t)n * sizeof *next);
  if (!field || !next)
    return 1;
  /* One thread writes all of it: all pages lie on its node. */
  for (long i = 0; i < n; ++i)
    field[i] = (double)(i % 7);
  /* Each thread's block is written by that thread: placed already. */
#pragma omp parallel for schedule(static)
  for (long i = 1; i < n - 1; ++i)
    next[i] = (field[i - 1] + field[i] + field[i + 1]) / 3;
  double sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
  for (long i = 1; i < n - 1; ++i)
    sum += next[i];
  print_nodes("field", field, n);
  print_nodes("next", next, n);
  printf("sum %.0f\n", sum);
  free(next);
  free(field);
  return 0;
}
