// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fix pause: the target's hint, unless there is one, and none where no
// function for it is known.
// RUN: grep -Ev "CHECK|X86-|ARM-" %s > %t.x86.c
// RUN: cp %t.x86.c %t.arm.c
// RUN: cp %t.x86.c %t.riscv.c
// RUN: cp %t.x86.c %t.orig.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: pause}}' --fix %t.x86.c -- --target=x86_64-linux-gnu
// RUN: FileCheck %s --check-prefixes=CHECK,X86 --input-file=%t.x86.c
// RUN: clang -fsyntax-only -Wall -Wextra -Werror %t.x86.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: pause}}' --fix %t.arm.c -- --target=aarch64-linux-gnu
// RUN: FileCheck %s --check-prefixes=CHECK,ARM --input-file=%t.arm.c
// RUN: clang --target=aarch64-linux-gnu -fsyntax-only -Wall -Wextra -Werror %t.arm.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --config='{CheckOptions: {vfriendly-spin-loops.Style: pause}}' --fix %t.riscv.c -- --target=riscv64-linux-gnu
// RUN: diff %t.orig.c %t.riscv.c

volatile int flag;
int sched_yield(void);
void cpu_relax(void);

// CHECK-LABEL: void waits(
void waits(void) {
  // CHECK: while (flag)
  // X86-NEXT: _mm_pause();
  // ARM-NEXT: __builtin_arm_isb(15);
  while (flag)
    ;
  // CHECK: do {
  // CHECK-NEXT: {{_mm_pause\(\)|__builtin_arm_isb\(15\)}};
  // CHECK-NEXT: } while (!flag);
  do {
  } while (!flag);
}
// CHECK-LABEL: void hinted(
// CHECK-NEXT: while (flag)
// CHECK-NEXT: cpu_relax();
// CHECK-NEXT: while (flag)
// CHECK-NEXT: sched_yield();
void hinted(void) {
  while (flag)
    cpu_relax();
  while (flag)
    sched_yield();
}
