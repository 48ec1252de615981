// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The check limits its work on one loop. Tracing v0 alone exceeds the limit, so
// what the check finds depends on the order in which it looks at the variables.
// This order must not depend on where the program's memory happens to lie.
// RUN: bash -c "for run in 1 2 3 4 5 6 7 8; do %vf_clang_tidy --checks=-*,vfriendly-spin-loops --quiet %s -- 2>/dev/null; done" > %t
// RUN: FileCheck %s --input-file=%t
// RUN: grep -c "warning: loop" %t | FileCheck %s --check-prefix=ALL
// ALL: {{^}}8{{$}}

struct node {
  struct node *next;
};
volatile int ready;

// Follows a list while it polls, which is work.
int walks(struct node *list, int x) {
  int v0 = 0, v1 = 0, v2 = 0, v3 = 0, v4 = 0, v5 = 0, v6 = 0, v7 = 0, v8 = 0,
      v9 = 0, v10 = 0, v11 = 0, v12 = x & 3;
  while (!ready) {
    __builtin_ia32_pause();
    list = list->next;
    v0 = v1 + v1;
    v1 = v2 + v2;
    v2 = v3 + v3;
    v3 = v4 + v4;
    v4 = v5 + v5;
    v5 = v6 + v6;
    v6 = v7 + v7;
    v7 = v8 + v8;
    v8 = v9 + v9;
    v9 = v10 + v10;
    v10 = v11 + v11;
    v11 = v12 + v12;
  }
  return list != 0;
}

// CHECK-COUNT-8: :[[@LINE+4]]:3: warning: loop spins on volatile 'ready'
int waits(struct node *list, int x) {
  int v0 = 0, v1 = 0, v2 = 0, v3 = 0, v4 = 0, v5 = 0, v6 = 0, v7 = 0, v8 = 0,
      v9 = 0, v10 = 0, v11 = 0, v12 = x & 3;
  while (!ready) {
    __builtin_ia32_pause();
    v0 = v1 + v1;
    v1 = v2 + v2;
    v2 = v3 + v3;
    v3 = v4 + v4;
    v4 = v5 + v5;
    v5 = v6 + v6;
    v6 = v7 + v7;
    v7 = v8 + v8;
    v8 = v9 + v9;
    v9 = v10 + v10;
    v10 = v11 + v11;
    v11 = v12 + v12;
  }
  return list != 0;
}
