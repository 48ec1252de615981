/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * For Fortran: prints the share of an array's pages that lies on each node. */

#include "pages.h"

void print_nodes(const char *name, const char *field, long bytes) {
  struct spread s = spread_of(field, (size_t)bytes);
  printf("%s:", name);
  for (int i = 0; i < NODES; ++i)
    if (s.pages[i] != 0)
      printf(" node %d %.1f %%", i, 100.0 * (double)s.pages[i] / (double)s.all);
  printf("\n");
  fflush(stdout);
}
