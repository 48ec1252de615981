// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewritten at each level of optimization; without any, left and said so.
//
// RUN: %vf_clang -O1 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O3 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -Os -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -Oz -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -flto -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -flto=thin -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang -O0 -S -emit-llvm %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=O0 --implicit-check-not="call {{.*}}vf_spin" --implicit-check-not="load atomic i32, ptr @plain"
// RUN: %vf_clang -O2 -mllvm -vf-spin=off -S -emit-llvm %s -o - | FileCheck %s --check-prefix=OFF --implicit-check-not="call {{.*}}vf_spin"
// RUN: %vf_clang -O2 -mllvm -vf-spin=pause -S -emit-llvm %s -o - | FileCheck %s --check-prefix=PAUSE --implicit-check-not="call {{.*}}vf_spin"
// Compiler caches do not see the environment, and neither does the compiler.
// RUN: env VF_SPIN=off %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: env VF_SPIN=nonsense %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

int plain;
volatile int word;
_Atomic int atom;
void set(void) {
  plain = 1;
  word = 1;
  atom = 1;
}

// O0: levels.c:[[#@LINE+1]]:{{.*}}loops of this function are not analysed without optimization: compile with -O1 or more
void wait_plain(void) {
  while (!plain) {}
}
void wait_volatile(void) {
  while (!word) {}
}
void wait_atomic(void) {
  while (!atom) {}
}
// CHECK-LABEL: @wait_plain(
// CHECK-DAG: load atomic i32, ptr @plain acquire
// CHECK-DAG: @vf_spin_wait_or_fallback(ptr {{.*}}@plain,
// CHECK-LABEL: @wait_volatile(
// CHECK: @vf_spin_wait_or_fallback(ptr {{.*}}@word,
// CHECK-LABEL: @wait_atomic(
// CHECK: @vf_spin_wait_or_fallback(ptr {{.*}}@atom,
// OFF: define
// PAUSE-LABEL: @wait_plain(
// PAUSE-DAG: load atomic i32, ptr @plain acquire
// PAUSE-DAG: call void {{@llvm.x86.sse2.pause|@llvm.aarch64.isb|asm sideeffect ".insn i 0x0F,}}
// PAUSE-LABEL: @wait_volatile(
// PAUSE-DAG: call void {{@llvm.x86.sse2.pause|@llvm.aarch64.isb|asm sideeffect ".insn i 0x0F,}}
// O0: define
