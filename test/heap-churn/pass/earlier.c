// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that is held while something long runs, behind its last use, is freed before that.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o %t.ll -Rpass=vf-heap-churn -Rpass-missed=vf-heap-churn 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: FileCheck %s --check-prefix=IR < %t.ll

#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int look(const char *p) { return p[0] + 3 * p[3]; }
void unknown(int);
void keep(char *);

int call(size_t n, int x) {
  // CHECK: earlier.c:[[#@LINE+1]]:{{.*}} it is freed after its last use, before the code that follows runs
  char *p = malloc(n);
  memset(p, x, n);
  int r = look(p);
  unknown(r);
  free(p);
  return r;
}
// IR-LABEL: @call(
// IR: call {{(signext )?}}i32 @look
// IR-NEXT: call void @free
// IR-NEXT: call void @unknown
// IR-NEXT: ret

// A loop that may run long.
long loop(size_t n, const int *v, int *w) {
  // CHECK: earlier.c:[[#@LINE+1]]:{{.*}} it is freed after its last use
  char *p = malloc(n);
  memset(p, 1, n);
  long r = look(p);
  for (size_t i = 0; i < n; ++i) {
    r = r * v[i] + 1;
    w[i] = (int)r;
  }
  free(p);
  return r;
}

// Several frees behind it become one.
int branches(size_t n, int x) {
  // CHECK: earlier.c:[[#@LINE+1]]:{{.*}} it is freed after its last use
  char *p = malloc(n);
  memset(p, x, n);
  int r = look(p);
  if (r > 3) {
    unknown(r);
    free(p);
    return 1;
  }
  unknown(2);
  free(p);
  return 2;
}
// IR-LABEL: @branches(
// IR: call void @free
// IR-NOT: call void @free
// IR: ret

// In each iteration by itself; what follows may not come back, so it is not hoisted.
int rounds(size_t n, int k) {
  int sum = 0;
  for (int i = 0; i < k; ++i) {
    unknown(0);
    // CHECK: earlier.c:[[#@LINE+1]]:{{.*}} it is freed after its last use
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    unknown(sum);
    free(p);
  }
  return sum;
}

// Used behind the call: freed before that, it would be read after its free.
int used(size_t n, int x) {
  char *p = malloc(n);
  memset(p, x, n);
  unknown(look(p));
  p[1] = 3;
  int r = look(p);
  free(p);
  return r;
}
// IR-LABEL: @used(
// IR: call void @unknown
// IR: call {{(signext )?}}i32 @look
// IR: call void @free

// Used in one branch behind it.
int sometimes(size_t n, int x) {
  char *p = malloc(n);
  memset(p, x, n);
  int r = look(p);
  unknown(r);
  if (x) {
    p[1] = 3;
    r += look(p);
  }
  free(p);
  return r;
}
// IR-LABEL: @sometimes(
// IR: call void @unknown
// IR: call void @free

// Another knows it, and the call may use it.
int escapes(size_t n, int x) {
  char *p = malloc(n);
  memset(p, x, n);
  keep(p);
  unknown(1);
  free(p);
  return 0;
}
// IR-LABEL: @escapes(
// IR: call void @unknown
// IR: call void @free

// What is read in the next iteration of an inner loop is behind the first iteration's last use.
int inner(size_t n, int k) {
  char *p = malloc(n);
  memset(p, k, n);
  int r = 0;
  for (int i = 0; i < k; ++i) {
    r += look(p);
    unknown(r);
  }
  free(p);
  return r;
}
// IR-LABEL: @inner(
// IR: call void @unknown
// IR: call void @free

// Nothing long follows: no need to move it.
int short_way(size_t n, int x) {
  char *p = malloc(n);
  memset(p, x, n);
  int r = look(p) + x;
  free(p);
  return r;
}
