// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits that read the identifier of their own process or thread in each
// iteration: it is the same each time, so they wait like any other.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

atomic_int owner, flag;
void set(void) {
  atomic_store(&owner, 1);
  atomic_store(&flag, 1);
}

// CHECK-LABEL: define {{.*}}@reads_pid(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback(
void reads_pid(void) {
  // expected-remark@+2 {{(flag poll) on atomic 'flag' wastes}}
  // expected-remark@+1 {{link with libvfrt}}
  while (!atomic_load(&flag))
    (void)getpid();
}

// CHECK-LABEL: define {{.*}}@for_my_turn(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback(
void for_my_turn(void) {
  // expected-remark@+1 {{(flag poll) on atomic 'owner' wastes}}
  while (atomic_load(&owner) != gettid())
    ;
}

// CHECK-LABEL: define {{.*}}@free_or_mine(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback(
void free_or_mine(void) {
  for (;;) {
    // expected-remark@+1 {{(flag poll) on atomic 'owner' wastes}}
    int now = atomic_load(&owner);
    if (now == 0 || now == getpid())
      break;
  }
}

// Why not: the CPU may change, so the loop may end without another thread.
// CHECK-LABEL: define {{.*}}@for_this_cpu(
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
void for_this_cpu(void) {
  while (atomic_load(&owner) != sched_getcpu())
    ;
}

// Why not: it only waits for itself.
// CHECK-LABEL: define {{.*}}@for_nobody(
// CHECK-NOT: @vf_spin_wait
// CHECK: ret void
void for_nobody(int id) {
  while (getpid() != id)
    ;
}
