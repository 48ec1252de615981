// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions whose code may not be changed.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --implicit-check-not="call {{.*}}@vf_spin" --implicit-check-not=sse2.pause
// RUN: %vf_clang -O2 -S -emit-llvm -mno-red-zone -DEXPECT=noredzone %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=REDZONE --implicit-check-not="call {{.*}}@vf_spin"
// RUN: %vf_clang -O2 -S -emit-llvm -mcmodel=kernel -DEXPECT=kernel %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=KERNEL --implicit-check-not="call {{.*}}@vf_spin"
//
// REQUIRES: host-x86_64
// CHECK: define

volatile int word;

// Code without a red zone runs where interrupts use the stack below, and the
// kernel has no libvfrt.
// REDZONE: left as it is: code without a red zone is kernel code
// KERNEL: left as it is: the code model is that of a kernel
#ifdef EXPECT
void ordinary(void) {
  while (!word) {}
}
#else
__attribute__((optnone, noinline)) void ordinary(void) {
  // Whoever asks for no optimization wants to see the program as written.
  // expected-remark@-2 {{loops of this function are not analysed without optimization}}
  while (!word) {}
}
#endif

__attribute__((naked)) void bare(void) {
  // A naked function has no frame, and no place to save a register.
  __asm__("1: testl $1, word(%rip); jz 1b; ret");
}
