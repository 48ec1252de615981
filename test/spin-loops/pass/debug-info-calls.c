// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of the runtime have a location although what they are beside has none,
// as is required of calls that can be inlined: here the runtime is in the same
// module.
//
// RUN: clang -g -O1 -Xclang -disable-llvm-passes -S -emit-llvm %s -o - | sed -E '/(load|store) atomic|^ *br /s/, !dbg ![0-9]+//' > %t.ll
// RUN: %vf_opt -passes='function(mem2reg),vf-spin-loops' -S %t.ll 2>&1 | FileCheck %s --implicit-check-not="must have a !dbg location"

#include <stdatomic.h>

typedef unsigned long u64;
struct pair {
  u64 state, skipped;
};
static _Atomic int word;
void *last;
void vf_spin_notify(void *at) { last = at; }

// CHECK-LABEL: @raise(
// CHECK: call {{.*}}@vf_spin_notify({{.*}}, !dbg !
void raise(void) { atomic_store(&word, 1); }

// CHECK-LABEL: @wait(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback({{.*}}, !dbg !
void wait(void) {
  while (!atomic_load(&word)) {
  }
}

// CHECK-LABEL: @wait_long(
// CHECK: call {{.*}}@vf_spin_wait_bounded_or_fallback({{.*}}, !dbg !
int wait_long(int limit) {
  for (int i = 0; i < limit; i++)
    if (atomic_load(&word))
      return 1;
  return 0;
}
