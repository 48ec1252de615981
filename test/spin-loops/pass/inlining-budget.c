// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conditions that fan out are not unfolded in search of a wait: 2 to the 7th
// calls would be left here, and code to match.
//
// RUN: %vf_clang -O1 -S -emit-llvm %s -o - -Xclang -disable-llvm-passes -o %t.ll
// RUN: %vf_opt -passes='function(sroa,simplifycfg),vf-spin-loops' -S %t.ll | FileCheck %s

volatile int flag;
static int l0(int x) { return flag + x; }
static int l1(int x) { return l0(x) ^ l0(x + 1); }
static int l2(int x) { return l1(x) ^ l1(x + 1); }
static int l3(int x) { return l2(x) ^ l2(x + 1); }
static int l4(int x) { return l3(x) ^ l3(x + 1); }
static int l5(int x) { return l4(x) ^ l4(x + 1); }
static int l6(int x) { return l5(x) ^ l5(x + 1); }
static int l7(int x) { return l6(x) ^ l6(x + 1); }

// CHECK-LABEL: define {{.*}}@wait(
// CHECK: call {{(signext )?}}i32 @l
// CHECK-LABEL: define internal {{(signext )?}}i32 @l7(
void wait(void) {
  while (!l7(1)) {}
}
