// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A condition that was compiled for other CPUs than its caller stays where it
// is: in the caller its instructions could not even be selected.
//
// RUN: %vf_clang --target=x86_64-linux-gnu -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang --target=x86_64-linux-gnu -O2 -S %s -o /dev/null

volatile int flag;
void set(void) { flag = 1; }

__attribute__((target("waitpkg"))) static int is_set(void) {
  __builtin_ia32_tpause(0, 0, 0);
  return flag;
}
static int is_set_anywhere(void) { return flag; }

// CHECK-LABEL: @wait_for_newer(
// CHECK-NOT: tpause
// CHECK: call {{.*}}@is_set()
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
void wait_for_newer(void) {
  while (!is_set()) {}
}

// CHECK-LABEL: @wait_for_same(
// CHECK: @vf_spin_wait
__attribute__((target("waitpkg"))) void wait_for_same(void) {
  while (!is_set()) {}
}

// What needs less than its caller has goes in.
// CHECK-LABEL: @wait_for_older(
// CHECK: @vf_spin_wait
__attribute__((target("waitpkg"))) void wait_for_older(void) {
  while (!is_set_anywhere()) {}
}
