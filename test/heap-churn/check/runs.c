// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs of allocations that are released together, and releases in reverse
// order: the programs of the dissertation, and what is none of that.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-heap-churn-consecutive,vfriendly-heap-churn-growth,vfriendly-heap-churn-reverse-free' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdlib.h>

void use(void *memory);
int ask(void);

// Allocated in reverse order of the release, in a loop for each of 16 threads.
void *work(void *arg) {
  void *m[1000];
  for (int i = 0; i < 1000; i++) {
    for (int j = 0; j < 1000; j++)
      // CHECK: :[[@LINE+1]]:14: warning: the elements of 'm' are allocated in one loop and released in another: {{.*}}; allocate one block (guidelines/heap-churn.md) [vfriendly-heap-churn-consecutive]
      m[j] = malloc(130048);
    for (int j = 0; j < 1000; j++)
      // CHECK: :[[@LINE+1]]:7: warning: loop releases the elements of 'm' in reverse order of allocation: {{.*}}; release in the order of allocation (guidelines/heap-churn.md) [vfriendly-heap-churn-reverse-free]
      free(m[999 - j]);
  }
  return arg;
}

// All behaviours at once.
int listing(void) {
  void *mem[1000];
  for (int i = 0; i < 1000; i++)
    // CHECK-DAG: :[[@LINE+2]]:14: warning: blocks grow with 'i', so none fits where an earlier one was: {{.*}} [vfriendly-heap-churn-growth]
    // CHECK-DAG: :[[@LINE+1]]:14: warning: the elements of 'mem' are allocated in one loop
    mem[i] = malloc(10 * i);
  use(mem);
  for (int i = 1; i <= 1000; i++)
    // CHECK: :[[@LINE+1]]:5: warning: loop releases the elements of 'mem' in reverse order
    free(mem[1000 - i]);
  return 0;
}

void in_order(int n) {
  char **names = malloc(n * sizeof *names);
  for (int i = 0; i < n; i++)
    // CHECK: :[[@LINE+1]]:16: warning: the elements of 'names' are allocated
    names[i] = malloc(16);
  use(names);
  for (int i = 0; i < n; i++)
    free(names[i]);
  free(names);
}

// The blocks live on with the structure: nobody here knows how long.
struct table {
  char **rows;
  int count;
};
void fill(struct table *t) {
  for (int i = 0; i < t->count; i++)
    t->rows[i] = malloc(16);
}
void into_a_parameter(char **rows, int n) {
  for (int i = 0; i < n; i++)
    rows[i] = malloc(16);
  if (ask())
    for (int i = 0; i < n; i++)
      free(rows[i]);
}

// What a failure takes back runs once, from where the failure was.
int unwinds(int n) {
  char *m[100];
  int i;
  for (i = 0; i < n; i++)
    if (!(m[i] = malloc(16)))
      goto fail;
  use(m);
  return 0;
fail:
  while (i--)
    free(m[i]);
  return -1;
}
int unwinds_by_another_counter(int n) {
  char *m[100];
  for (int i = 0; i < n; i++) {
    m[i] = malloc(16);
    if (m[i])
      continue;
    for (int j = i - 1; j >= 0; j--)
      free(m[j]);
    return -1;
  }
  use(m);
  return 0;
}

// A few.
void few(void) {
  char *m[4];
  for (int i = 0; i < 4; i++)
    m[i] = malloc(16);
  use(m);
  for (int i = 3; i >= 0; i--)
    free(m[i]);
}
// Always the same element.
void replaced(void) {
  char *m[4];
  while (ask())
    m[0] = malloc(16);
  while (ask())
    free(m[0]);
}
