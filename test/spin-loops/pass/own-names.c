// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions and variables of the program's own that are named as the library's.
//
// RUN: %vf_clang -O2 -S -emit-llvm -DPOLL %s -o - | FileCheck %s --check-prefix=POLL
// RUN: %vf_clang -O2 -S -emit-llvm -DARMED %s -o - | FileCheck %s --check-prefix=ARMED
// RUN: %vf_clang -O2 -c -DARMED %s -o /dev/null

volatile int flag;
void set(void) { flag = 1; }

#ifdef POLL
// Not poll(2), which has arguments: may do anything.
// POLL-LABEL: @wait_by_own_poll(
// POLL-NOT: @vf_spin_wait
// POLL: ret void
int poll(void);
void wait_by_own_poll(void) {
  while (!flag)
    poll();
}
#endif

#ifdef ARMED
// A program that brings the runtime itself, as a unity build does.
unsigned vf_spin_armed, vf_spin_never_armed;
// ARMED-DAG: @vf_spin_armed = {{.*}}global i32 0
// ARMED-DAG: @vf_spin_never_armed = {{.*}}global i32 0
// ARMED-LABEL: @wait(
// ARMED: @vf_spin_wait
void wait(void) {
  while (!flag) {}
}
#endif
