// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions and variables of the program's own that are named as the library's.
//
// RUN: %vf_clang -O2 -S -emit-llvm -DPOLL %s -o - | FileCheck %s --check-prefix=POLL
// RUN: %vf_clang -O2 -S -emit-llvm -DARMED %s -o - | FileCheck %s --check-prefix=ARMED
// RUN: %vf_clang -O2 -c -DARMED %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm -DTAKEN=vf_spin_armed %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %vf_clang -O2 -S -emit-llvm -DTAKEN=vf_spin_never_armed %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %vf_clang -O2 -S -emit-llvm -DTAKEN=vf_spin_notify -DVARIABLE %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %vf_clang -O2 -S -emit-llvm -DTAKEN=vf_spin_wait -DVARIABLE %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %vf_clang -O2 -S -emit-llvm -DTAKEN=vf_spin_wait_or_fallback %remarks %s -o - 2>&1 | FileCheck %s --check-prefix=TAKEN
// RUN: %vf_clang -O2 -S -emit-llvm -DSTRONG -I%vf_include %s -o - | FileCheck %s --check-prefix=STRONG

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

#ifdef TAKEN
// TAKEN: and nothing else: the program uses names of the runtime for its own symbols
// TAKEN: define
#ifdef VARIABLE
char TAKEN[100];
#else
long TAKEN(void *p) { return (long)p; }
#endif
void wait(void) {
  while (!flag) {}
}
#endif

#ifdef STRONG
// A program that uses the runtime itself does not link without it.
// STRONG-DAG: @vf_spin_armed = external {{.*}}global i32
// STRONG-DAG: declare void @vf_spin_notify(
// STRONG-DAG: declare i64 @vf_spin_wait(
#include <vfriendly/spin_wait.h>
void wait(void) {
  while (!flag) {}
}
void own(void) {
  uint64_t state = 0;
  while (flag != 2)
    state = vf_spin_wait(&flag, 0, state, VF_SPIN_NOTIFIED);
  flag = 3;
  vf_spin_notify_if_waiting(&flag);
}
#endif
