// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a loop that only counts calls is not unfolded in search of a wait: the
// inliner would be given other code, and other programs come out, for nothing.
//
// RUN: %vf_clang -O1 -S -emit-llvm %s -o - -Xclang -disable-llvm-passes -o %t.ll
// RUN: %vf_opt -passes='function(sroa,simplifycfg),vf-spin-loops' -S %t.ll | FileCheck %s

volatile int flag;
static int look(int i) { return flag + i; }

// CHECK-LABEL: define {{.*}}@counts(
// CHECK: call {{(signext )?}}i32 @look(
int counts(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++)
    sum += look(i);
  return sum;
}

// CHECK-LABEL: define {{.*}}@looks(
// CHECK-NOT: call {{(signext )?}}i32 @look(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback(
void looks(void) {
  while (!look(0))
    ;
}

// What others do decides on the way, not by a value of the loop's own.
// CHECK-LABEL: define {{.*}}@remembers(
// CHECK-NOT: call {{(signext )?}}i32 @look(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback(
void remembers(void) {
  for (int done = 0; !done;)
    if (look(0))
      done = 1;
}

void release(void) { flag = 1; }
