// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A bounded wait is rewritten to two loops. A write after the loop, at an
// address that the loop computes, then has the address of either loop as its
// operand, and notifies at it.
//
// RUN: clang -g -O1 -Xclang -disable-llvm-passes -S -emit-llvm %s -o %t.ll
// RUN: %vf_opt -passes='function(sroa,early-cse),vf-spin-loops,verify' -S %t.ll | FileCheck %s
// RUN: %vf_clang -O2 -g -c %s -o %t.o

#include <stdatomic.h>

struct lock {
  int pad;
  atomic_int owner;
};

// CHECK-LABEL: @take(
// CHECK: [[#FIRST:]] = getelementptr{{.*}}%struct.lock
// CHECK: [[#OTHER:]] = getelementptr{{.*}}%struct.lock
// CHECK: [[AT:%.*]] = phi ptr {{.*}}%[[#OTHER]]
// CHECK: store atomic i32 1, ptr [[AT]] release
// CHECK: call void @vf_spin_notify(ptr [[AT]])
int take(struct lock *l, int n) {
  for (int i = 0; i < n; i++) {
    if (atomic_load_explicit(&l->owner, memory_order_acquire) == 0) {
      atomic_store_explicit(&l->owner, 1, memory_order_release);
      return 1;
    }
    __builtin_ia32_pause();
  }
  return 0;
}

// The same, by a call that is inlined later.
static inline void set(atomic_int *at) {
  atomic_store_explicit(at, 1, memory_order_release);
}

// CHECK-LABEL: @take_by_call(
// CHECK: [[AT:%.*]] = phi ptr
// CHECK: call void @set({{.*}}[[AT]])
// CHECK: call void @vf_spin_notify(ptr [[AT]])
int take_by_call(struct lock *l, int n) {
  for (int i = 0; i < n; i++) {
    if (atomic_load_explicit(&l->owner, memory_order_acquire) == 0) {
      set(&l->owner);
      return 1;
    }
    __builtin_ia32_pause();
  }
  return 0;
}
