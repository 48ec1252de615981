// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What was taken last is freed first: only the author can turn the loop around. Where a pool
// has it, nobody needs to.
//
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass-missed=vf-heap-churn 2>&1 | grep -v 'each iteration takes' | FileCheck %s --implicit-check-not=remark:
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass=vf-heap-churn 2>&1 | FileCheck %s --check-prefix=POOL --implicit-check-not=remark:
// With the rewrites off nothing comes from a pool, and nothing changes.
// RUN: %vf_clang -O2 -c %s -o %t.o -mllvm -vf-heap=off -Rpass-missed=vf-heap-churn 2>&1 | FileCheck %s --check-prefixes=CHECK,OFF --implicit-check-not=remark:
// RUN: clang -O2 -S -emit-llvm %s -o %t.ll && opt -passes=verify -S %t.ll -o %t.before.ll
// RUN: %vf_opt -passes='vf-heap-churn<mode=off>' -S %t.ll -o - | diff %t.before.ll -

#include <stdlib.h>
#include <string.h>

void use(void *);
int ask(void);
void *block(void);

void constant(void) {
  void *m[1000];
  for (int i = 0; i < 1000; i++)
    m[i] = malloc(4096);
  use(m);
  for (int i = 1; i <= 1000; i++)
    // CHECK: reverse.c:[[#@LINE+1]]:{{.*}} the block allocated last is freed first, so that each free shrinks the heap; kept: only the author can free the blocks in the order of allocation, or all at once
    free(m[1000 - i]);
}
void in_order(void) {
  void *m[1000];
  for (int i = 0; i < 1000; i++)
    m[i] = malloc(4096);
  use(m);
  for (int i = 0; i < 1000; i++)
    free(m[i]);
}
// Both the other way round is the same order.
void both_down(void) {
  void *m[1000];
  for (int i = 1000; i--;)
    m[i] = malloc(4096);
  use(m);
  for (int i = 1000; i--;)
    free(m[i]);
}
void taken_down(void) {
  void *m[1000];
  for (int i = 1000; i--;)
    m[i] = malloc(4096);
  use(m);
  for (int i = 0; i < 1000; i++)
    // CHECK: reverse.c:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
    free(m[i]);
}

// The array is from the heap as well; a failure ends the program.
void pages(int n) {
  char **all = malloc((size_t)n * sizeof *all);
  if (!all)
    abort();
  for (int i = 0; i < n; i++) {
    all[i] = calloc(n, 8);
    if (!all[i])
      abort();
  }
  use(all);
  while (n--)
    // CHECK: reverse.c:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
    free(all[n]);
  free(all);
}
// In what the caller gives.
struct table {
  char **row;
  int rows;
};
void in_caller(struct table *t, const char *with) {
  int n = t->rows;
  for (int i = 0; i < n; i++)
    t->row[i] = strdup(with);
  use(t);
  for (int i = n - 1; i >= 0; i--)
    // CHECK: reverse.c:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
    free(t->row[i]);
}
// The caller has them, but for a failure.
int to_caller(char **row, int n) {
  for (int i = 0; i < n; i++)
    row[i] = malloc(100);
  if (ask())
    return 0;
  while (n--)
    free(row[n]);
  return -1;
}
// Those of another array.
void another(char **freed, char **taken, int n) {
  for (int i = 0; i < n; i++)
    taken[i] = malloc(100);
  while (n--)
    free(freed[n]);
}

// A failure undoes what was done, once.
int unwinds(void) {
  char *m[100];
  int i;
  for (i = 0; i < 100; i++)
    if (!(m[i] = malloc(16)))
      goto fail;
  use(m);
  for (i = 0; i < 100; i++)
    free(m[i]);
  return 0;
fail:
  while (i--)
    free(m[i]);
  return -1;
}
int unwinds_from_within(int n) {
  char *m[100];
  for (int i = 0; i < n; i++) {
    m[i] = malloc(16);
    if (m[i] && ask() == 0)
      continue;
    for (int j = i; j >= 0; j--)
      free(m[j]);
    return -1;
  }
  use(m);
  return 0;
}
int until_no_more(void) {
  char *m[100];
  int n = 0;
  while (ask()) {
    if (!(m[n] = malloc(16)))
      return -1;
    ++n;
  }
  use(m);
  while (n--)
    // CHECK: reverse.c:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
    free(m[n]);
  return 0;
}

// What leaves early is not the usual way.
int until_too_many(void) {
  char *m[100];
  for (int i = 0; i < 100; i++) {
    m[i] = malloc(16);
    if (ask())
      return -1;
  }
  use(m);
  for (int i = 100; i--;)
    // CHECK: reverse.c:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
    free(m[i]);
  return 0;
}

// Few.
void few(int n) {
  char *m[16];
  for (int i = 0; i < n && i < 16; i++)
    m[i] = malloc(16);
  use(m);
  for (int i = 16; i--;)
    free(m[i]);
}
// Not taken here.
void of_others(int n) {
  char *m[100];
  for (int i = 0; i < n; i++)
    m[i] = block();
  use(m);
  while (n--)
    free(m[n]);
}
void resized(char **m, int n) {
  for (int i = 0; i < n; i++)
    m[i] = realloc(m[i], 100);
  use(m);
  while (n--)
    free(m[n]);
}
// Always the same element, then back.
void one(int n) {
  char *m[100] = {0};
  for (int i = 0; i < n; i++)
    m[0] = malloc(16);
  use(m);
  while (n--)
    free(m[n]);
}

// Nobody else knows them.
__attribute__((noinline)) static int look(const char *p) { return p[0] + 3 * p[3]; }
int pooled(void) {
  char *m[1000];
  int sum = 0;
  for (int i = 0; i < 1000; i++) {
    // POOL: reverse.c:[[#@LINE+1]]:{{.*}} come from a pool
    m[i] = malloc(20);
    memset(m[i], i, 20);
  }
  for (int i = 0; i < 1000; i++)
    sum += look(m[i]);
  for (int i = 1000; i--;)
    // OFF: reverse.c:[[#@LINE+1]]:{{.*}} the block allocated last is freed first
    free(m[i]);
  return sum;
}

__attribute__((annotate("vfriendly:keep"))) void kept(void) {
  void *m[1000];
  for (int i = 0; i < 1000; i++)
    m[i] = malloc(4096);
  use(m);
  for (int i = 1000; i--;)
    free(m[i]);
}
