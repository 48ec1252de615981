/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Blocks that start the helper of libvfmalloc: some megabytes, of a size that
 * is given back to the system. */
#ifndef CHURN_H
#define CHURN_H

#include "check.h"
#include <stdlib.h>
#include <string.h>

static void churn_once(void) {
  enum { BLOCKS = 60, SIZE = 150000 };
  char *blocks[BLOCKS];
  for (int i = 0; i != BLOCKS; ++i) {
    CHECK(blocks[i] = malloc(SIZE));
    memset(blocks[i], 1, SIZE);
  }
  for (int i = 0; i != BLOCKS; ++i)
    free(blocks[i]);
}

#endif /* CHURN_H */
