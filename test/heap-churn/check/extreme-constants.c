// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants that no int64_t represents, and differences that overflow one.
//
// RUN: clang-tidy --load=%vf_tidy_module --checks='-*,vfriendly-*' %s -- -std=gnu11 -w 2>&1 | FileCheck %s --implicit-check-not=warning:

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void settle(size_t at, int *heap);
void order(size_t n, int *heap) {
  for (size_t i = (n >> 1) - 1; i != (size_t)(-1); --i)
    settle(i, heap);
}

int look(const char *);
int all(size_t size) {
  int sum = 0;
  for (int64_t i = INT64_MIN; i < INT64_MAX; ++i) {
    // CHECK: extreme-constants.c:[[#@LINE+1]]:{{.*}} 'p' is allocated by 'malloc' and released in each iteration
    char *p = malloc(size);
    if (!p)
      return -1;
    memset(p, 1, size);
    sum += look(p);
    free(p);
  }
  return sum;
}

static double far[1 << 16];
void fill(void) {
  for (unsigned i = 0; i < ((unsigned __int128)1 << 100); i += SIZE_MAX)
    far[i & 65535] = 0;
  memset(far, 0, SIZE_MAX);
}
