// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why the conversion is not left to LLVM's own, the Attributor's: the table in the guideline
// is what this test sees. When LLVM does better, it fails here.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OURS
// RUN: clang -O2 -S -emit-llvm %s -o - | opt -passes=attributor -S | FileCheck %s --check-prefix=LLVM

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Reads, and neither keeps nor frees what it is given: LLVM sees that.
__attribute__((noinline)) int look(const char *p) { return p[0] + 3 * p[3]; }

int plain(int n) {
  char *p = malloc(64);
  p[n & 63] = 1;
  int r = look(p);
  free(p);
  return r;
}
// OURS-LABEL: @plain(
// OURS: alloca [64 x i8], align 16
// LLVM-LABEL: @plain(
// LLVM: alloca i8, i64 64, align 1

int tested(int n) {
  char *p = malloc(64);
  if (!p)
    return -1;
  memset(p, n, 64);
  int r = look(p);
  free(p);
  return r;
}
// OURS-LABEL: @tested(
// OURS-NOT: @malloc
// OURS: ret
// LLVM-LABEL: @tested(
// LLVM: @malloc

int printed(int n) {
  char *p = malloc(32);
  snprintf(p, 32, "%d", n);
  int r = printf("%s", p);
  free(p);
  return r;
}
// OURS-LABEL: @printed(
// OURS-NOT: @malloc
// OURS: ret
// LLVM-LABEL: @printed(
// LLVM: @malloc

// Each iteration's is added to the frame.
int rounds(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    char *p = malloc(40);
    p[i % 40] = 1;
    sum += look(p);
    free(p);
  }
  return sum;
}
// OURS-LABEL: @rounds(
// OURS: alloca
// OURS-NOT: alloca
// OURS: ret
// LLVM-LABEL: @rounds(
// LLVM-NOT: alloca
// LLVM: br i1
// LLVM: alloca

// Each call has its own.
int recursive(int n) {
  char *p = malloc(100);
  p[n & 63] = 1;
  int r = n ? recursive(n - 1) + look(p) : look(p);
  r += look(p);
  free(p);
  return r;
}
// OURS-LABEL: @recursive(
// OURS: @malloc
// LLVM-LABEL: @recursive(
// LLVM-NOT: @malloc
// LLVM: ret

// Read when the function is done.
static char *global;
void stored(void) {
  char *p = malloc(16);
  p[0] = 1;
  global = p;
}
int reads_global(void) { return look(global); }
// OURS-LABEL: @stored(
// OURS: @malloc
// LLVM-LABEL: @stored(
// LLVM-NOT: @malloc
// LLVM: store ptr %{{.*}}h2s, ptr @global
// LLVM: ret
