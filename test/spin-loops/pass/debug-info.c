// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With debug information the module stays well-formed at each level, and the
// wait has a line of its own function.
//
// RUN: %vf_clang -g -O1 -S -emit-llvm %s -o - | opt -passes=verify -S | FileCheck %s
// RUN: %vf_clang -g -O2 -S -emit-llvm %s -o - | opt -passes=verify -S 2>&1 | FileCheck %s --implicit-check-not="invalid debug info"
// RUN: %vf_clang -g -O3 -flto -S -emit-llvm %s -o - | opt -passes=verify -S | FileCheck %s
// RUN: %vf_clang -g -O2 -c %s -o %t.o
// RUN: llvm-dwarfdump --verify %t.o

static int done(volatile int *p) { return *p; }
volatile int word;
int plain;
void set(void) {
  word = 1;
  plain = 1;
}

// CHECK: define {{.*}}@wait({{.*}} !dbg ![[WAIT:[0-9]+]]
// CHECK: call {{.*}}@vf_spin_wait_or_fallback({{.*}} !dbg ![[LINE:[0-9]+]]
// CHECK: ![[WAIT]] = distinct !DISubprogram(name: "wait"
void wait(void) {
  while (!done(&word)) {}
  while (!plain) {}
}
