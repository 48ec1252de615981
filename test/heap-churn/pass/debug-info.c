// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The free that replaces others has the line of the only one; if there were
// several, a debugger and a tool for memory must not name one that may not have
// been reached.
//
// RUN: clang -O1 -g -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: %vf_opt -passes='inferattrs,function(sroa),cgscc(function-attrs),vf-heap-churn' -S %t.ll | FileCheck %s
// RUN: %vf_clang -O2 -g -c %s -o %t.o
// RUN: llvm-dwarfdump --verify --quiet %t.o

#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) int look(const char *p) { return p[0] + 3 * p[3]; }
int unknown(int);

// CHECK-LABEL: @one(
// CHECK: call {{.*}}@look
// CHECK: call void @free({{.*}}, !dbg ![[ONE:[0-9]+]]
// CHECK: call {{.*}}@unknown
int one(size_t n, int x) {
  char *p = malloc(n);
  memset(p, x, n);
  int r = look(p);
  unknown(r);
  free(p);
  return r;
}

// CHECK-LABEL: @several(
// CHECK: call {{.*}}@look
// CHECK: call void @free({{.*}}, !dbg ![[SEVERAL:[0-9]+]]
// CHECK: call {{.*}}@unknown
int several(size_t n, int x) {
  char *p = malloc(n);
  memset(p, x, n);
  int r = look(p);
  if (unknown(r)) {
    free(p);
    return unknown(1);
  }
  free(p);
  return r;
}

// An iteration reuses the buffer, the first ones aside.
// CHECK-LABEL: @reuse(
// CHECK: br i1 {{.*}}, !prof ![[LIKELY:[0-9]+]]
int reuse(size_t n, int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) {
    char *p = malloc(n);
    memset(p, i, n);
    sum += look(p);
    free(p);
  }
  return sum;
}

// CHECK: ![[ONE]] = !DILocation(line: 29,
// CHECK: ![[SEVERAL]] = !DILocation(line: 0, scope:
// CHECK: ![[LIKELY]] = !{!"branch_weights", {{.*}}i32 1048575, i32 1}
