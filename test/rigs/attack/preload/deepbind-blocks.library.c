// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of deepbind-blocks.c.

#include <stdlib.h>
#include <string.h>
char *mk(size_t n) {
  char *p = malloc(n);
  memset(p, 7, n);
  return p;
}
void rel(void *p) { free(p); }
