// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same from C, for targets whose headers are not needed.
//
// RUN: %vf_clang --target=aarch64-linux-gnu -O2 -S -emit-llvm %s -o - -mllvm -vf-spin=pause | FileCheck %s --check-prefix=A64
// RUN: %vf_clang --target=riscv64-linux-gnu -O2 -S -emit-llvm %s -o - -mllvm -vf-spin=pause | FileCheck %s --check-prefix=RV
// RUN: %vf_clang --target=aarch64-linux-gnu -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=BLOCK
// RUN: %vf_clang --target=riscv64-linux-gnu -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=BLOCK
// RUN: %vf_clang --target=i686-linux-gnu -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=SMALL --implicit-check-not=vf_spin_wait
// RUN: %vf_clang --target=x86_64-linux-gnux32 -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=SMALL --implicit-check-not=vf_spin_wait
// RUN: %vf_clang --target=aarch64-linux-gnu -O2 -c %s -o /dev/null
// RUN: %vf_clang --target=riscv64-linux-gnu -march=rv64gc -O2 -c %s -o /dev/null

volatile int flag;
void set(void) { flag = 1; }

// A64-LABEL: @wait(
// A64: call void @llvm.aarch64.isb(i32 15)
// RV-LABEL: @wait(
// RV: call void asm sideeffect ".insn i 0x0F
// BLOCK-LABEL: @wait(
// BLOCK: @vf_spin_wait_or_fallback(
// SMALL-LABEL: @wait(
// SMALL: call void @llvm.x86.sse2.pause()
void wait(void) {
  while (!flag) {}
}
