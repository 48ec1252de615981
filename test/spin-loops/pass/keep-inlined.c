// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mark of a function goes with its loops wherever it is inlined, also into
// a condition that stands before it in the file.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

volatile int flag, gate;
void set(void) { flag = gate = 1; }

__attribute__((annotate("vfriendly:keep"))) static inline int passed(void);
static int both(void) { return passed() && flag; }

// CHECK-LABEL: @wait_for_kept(
// CHECK-NOT: @vf_spin_wait_or_fallback(ptr {{.*}}@gate
// CHECK: ret void
void wait_for_kept(void) {
  while (!both()) {}
}

static inline int passed(void) {
  while (!gate) {}
  return 1;
}
