// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long runs of allocations that are freed together, in the same order: where no pool takes
// them, one remark says so, at the allocation, and none at the free.
//
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass-missed=vf-heap-churn -Rpass-analysis=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:

#include <stdlib.h>
#include <string.h>

void use(void *);
__attribute__((noinline)) static int look(const char *p) { return p[0] + 3 * p[3]; }

int known_to_others(void) {
  char *m[1000];
  for (int i = 0; i < 1000; i++)
    // CHECK: together.c:[[#@LINE+1]]:{{.*}} each iteration allocates memory; kept: its address is in memory that other code may read
    m[i] = malloc(20);
  use(m);
  for (int i = 0; i < 1000; i++)
    free(m[i]);
  return 0;
}
// Pools copy no strings.
int copies(const char *s) {
  char *m[1000];
  int sum = 0;
  for (int i = 0; i < 1000; i++)
    // CHECK: together.c:[[#@LINE+1]]:{{.*}} each iteration allocates memory; kept: its address is stored
    m[i] = strdup(s);
  for (int i = 0; i < 1000; i++)
    sum += look(m[i]);
  for (int i = 0; i < 1000; i++)
    free(m[i]);
  return sum;
}
// A pool has them.
int pooled(void) {
  char *m[1000];
  int sum = 0;
  for (int i = 0; i < 1000; i++) {
    m[i] = malloc(20);
    memset(m[i], i, 20);
  }
  for (int i = 0; i < 1000; i++)
    sum += look(m[i]);
  for (int i = 0; i < 1000; i++)
    free(m[i]);
  return sum;
}
