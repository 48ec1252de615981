// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At each level of optimization, and in each form of link-time optimization.
//
// RUN: %vf_clang -O1 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O3 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -Os -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -Oz -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -Og -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -flto -S -emit-llvm %s -o - | FileCheck %s --check-prefix=BEFORE-LINK
// RUN: %vf_clang -O2 -flto=thin -S -emit-llvm %s -o - | FileCheck %s --check-prefix=BEFORE-LINK
// Without optimization, with sanitizers, or when told so it is left.
// RUN: %vf_clang -O0 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF
// RUN: %vf_clang -O2 -fsanitize=address -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF
// RUN: %vf_clang -O2 -fsanitize=thread -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF
// RUN: %if !host-riscv64 %{ %vf_clang -O2 -fsanitize=memory -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF %}
// RUN: %vf_clang -O2 -mllvm -vf-heap=off -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF
// malloc may be anything then.
// RUN: %vf_clang -O2 -fno-builtin -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF
// RUN: %vf_clang -O2 -fno-builtin-malloc -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF
// Compiler caches do not see the environment, and neither does the compiler.
// RUN: env VF_HEAP=off %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: not %vf_clang -O2 -mllvm -vf-heap=maybe -S -emit-llvm %s -o - 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: error: vfriendly: -vf-heap=maybe: use on or off

#include <stdio.h>
#include <stdlib.h>

// The C library's functions keep nothing: known without looking into them.
int hoisted(size_t n, int rounds) {
  int sum = 0;
  for (int i = 0; i < rounds; ++i) {
    char *p = malloc(n);
    snprintf(p, n, "%d", i);
    sum += atoi(p);
    free(p);
  }
  return sum;
}
// CHECK-LABEL: @hoisted(
// CHECK: call {{.*}}@malloc({{.*}}!vf.heap
// CHECK-LABEL: @moved(
// CHECK-NOT: call {{.*}}@malloc(
// CHECK: ret i32
// Before the link its callers are unknown (lto-recursion.test): left to the linker.
// BEFORE-LINK-LABEL: @hoisted(
// BEFORE-LINK: call {{.*}}@malloc({{.*}}!vf.heap
// BEFORE-LINK-LABEL: @moved(
// BEFORE-LINK: call {{.*}}@malloc(
// BEFORE-LINK: ret i32
// OFF-NOT: !vf.heap
int moved(int x) {
  char *p = malloc(64);
  snprintf(p, 64, "%d", x);
  int r = atoi(p);
  free(p);
  return r;
}
