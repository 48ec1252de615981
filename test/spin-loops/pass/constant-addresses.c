// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constants have no list of their uses, or one that modules share. A register at
// address 0, as on many microcontrollers, a pointer that stays null, and a
// constant address each come to where the pass asks for uses.
//
// RUN: %vf_clang -O2 -S -emit-llvm %remarks %s -o - 2>&1 | FileCheck %s

#include <stdatomic.h>

extern volatile int stop;
extern atomic_int ended;

// CHECK: constant-addresses.c:[[#@LINE+3]]:{{.*}}spin loop (device register) on {{.*}}
#define STATUS ((volatile unsigned *)0)[1]
void wait_ready(void) {
  while (!(STATUS & 1) && !stop) {
  }
}

struct device {
  volatile unsigned status;
};
static struct device *never_set;
void wait_for_nothing(void) {
  while (!(never_set->status & 1) && !atomic_load(&ended)) {
  }
}

#define FIXED (*(atomic_int *)0x1000ul)
void wait_at_fixed(void) {
  while (!atomic_load(&FIXED) && !atomic_load(&ended)) {
  }
}
// CHECK: define {{.*}}@wait_ready
// CHECK: define {{.*}}@wait_for_nothing
// CHECK: define {{.*}}@wait_at_fixed
