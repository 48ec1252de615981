// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small memory of a constant size that never leaves its function becomes a variable.
//
// RUN: %vf_clang -O2 -c %s -o %t.o -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - -mllvm -vf-heap=off | FileCheck %s --check-prefix=OFF

#include <stdlib.h>
#include <string.h>

// Reads, and neither keeps nor frees what it is given: LLVM sees that.
__attribute__((noinline)) int look(const char *p) { return p[0] + 3 * p[3]; }
void keeps(char *);

int simple(int n) {
  // CHECK: stack.c:[[#@LINE+1]]:{{.*}} a variable takes the place of 64 bytes from the heap
  char *p = malloc(64);
  if (!p)
    return -1;
  memset(p, n, 64);
  int r = look(p);
  free(p);
  return r;
}
// IR-LABEL: @simple(
// IR-NOT: @malloc
// IR-NOT: @free
// IR: ret
// OFF-LABEL: @simple(
// OFF: @malloc
// OFF: @free

// What is not freed on some way was lost before, and is no more.
int lost(int n) {
  // CHECK: stack.c:[[#@LINE+1]]:{{.*}} a variable takes the place of 128 bytes
  char *p = malloc(128);
  p[n & 127] = 1;
  if (look(p))
    return 3;
  free(p);
  return 4;
}

// calloc's zeros come with it, in each iteration.
int zeros(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    // CHECK: stack.c:[[#@LINE+1]]:{{.*}} a variable takes the place of 40 bytes
    char *p = calloc(10, 4);
    p[i % 40] += 1;
    sum += look(p);
    free(p);
  }
  return sum;
}
// IR-LABEL: @zeros(
// IR: {{memset|store <}}
// IR: ret

// Too large for a frame: one more byte.
int large(int n) {
  char *p = malloc(129);
  p[n & 127] = 1;
  int r = look(p);
  free(p);
  return r;
}
// IR-LABEL: @large(
// IR: @malloc

// Another knows where it is, and may look at it when this function is done.
void escapes(void) {
  char *p = malloc(16);
  keeps(p);
}
// IR-LABEL: @escapes(
// IR: @malloc

static char *global;
void stored(void) {
  char *p = malloc(16);
  p[0] = 1;
  global = p;
}
int reads_global(void) { return look(global); }
// IR-LABEL: @stored(
// IR: @malloc

// Deep recursion has a small stack.
int recursive(int n) {
  char *p = malloc(100);
  p[n & 63] = 1;
  int r = n ? recursive(n - 1) + look(p) : look(p);
  r += look(p);
  free(p);
  return r;
}
// IR-LABEL: @recursive(
// IR: @malloc

// Which of two it is does not show.
int either(int n) {
  char *p = malloc(16), *q = malloc(16);
  p[0] = 1, q[0] = 2;
  char *r = look(p) + n ? p : q;
  int result = look(r);
  free(p), free(q);
  return result;
}

// A test that a reader sees fail may not be folded.
int compared(char *other) {
  char *p = malloc(16);
  p[0] = 1;
  int r = p == other ? 1 : look(p);
  free(p);
  return r;
}

__attribute__((annotate("vfriendly:keep"))) int kept(void) {
  char *p = malloc(16);
  p[0] = 1;
  int r = look(p);
  free(p);
  return r;
}
// IR-LABEL: @kept(
// IR: @malloc
