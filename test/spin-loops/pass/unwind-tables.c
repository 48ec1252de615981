// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profiler that walks the stack from inside a wait gets through the fallback.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -c %s -o %t.o
// RUN: llvm-dwarfdump --eh-frame %t.o | FileCheck %s --check-prefix=TABLE

volatile int flag;
void set(void) { flag = 1; }
void wait(void) {
  while (!flag) {}
}

// CHECK: define {{.*}}@vf_spin_wait_or_fallback({{.*}} [[ATTRIBUTES:#[0-9]+]]
// CHECK: attributes [[ATTRIBUTES]] = {{{.*}}uwtable
// set, wait and the fallback.
// TABLE-COUNT-3: FDE
