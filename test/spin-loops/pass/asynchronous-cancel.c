// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread that is cancelled asynchronously may call only three functions of
// POSIX: its waits get the CPU's hint, and no call.
//
// RUN: %vf_clang -O2 -S -emit-llvm -DTYPE=PTHREAD_CANCEL_ASYNCHRONOUS %remarks %s -o - 2>&1 | FileCheck %s --implicit-check-not="call {{.*}}@vf_spin_wait"
// RUN: %vf_clang -O2 -S -emit-llvm -DTYPE=type %remarks %s -o - 2>&1 | FileCheck %s --implicit-check-not="call {{.*}}@vf_spin_wait"
// RUN: %vf_clang -O2 -S -emit-llvm -DTYPE=PTHREAD_CANCEL_DEFERRED %s -o - | FileCheck %s --check-prefix=DEFERRED

#include <pthread.h>

volatile int flag;
void set(void) { flag = 1; }

// CHECK: give the CPU's spin hint, and nothing else: its module cancels threads asynchronously
// CHECK: define {{.*}}@wait_cancellable(
// DEFERRED: call {{.*}}@vf_spin_wait
void *wait_cancellable(int type) {
  pthread_setcanceltype(TYPE, 0);
  while (!flag) {
  }
  return 0;
}
