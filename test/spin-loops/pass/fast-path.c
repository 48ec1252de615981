// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the first test succeeds nothing is added: no register is saved and no
// frame is made before the first branch.
//
// REQUIRES: host-x86_64
// RUN: %vf_clang -O1 -S %s -o - | FileCheck %s
// RUN: %vf_clang -O2 -S %s -o - | FileCheck %s
// RUN: %vf_clang -O3 -S %s -o - | FileCheck %s
// RUN: %vf_clang -Os -S %s -o - | FileCheck %s

#include <stdatomic.h>

atomic_int flag, lock, next, owner;
void set(void) {
  flag = 1;
  lock = 0;
  owner++;
}

// CHECK-LABEL: {{^}}wait_flag:
// CHECK-NOT: {{push|sub.*rsp}}
// CHECK: {{(test|cmp)[lb]?}}
// CHECK-NOT: {{push|sub.*rsp}}
// CHECK: {{^[[:space:]]+j[a-z]+}}
void wait_flag(void) {
  while (!atomic_load_explicit(&flag, memory_order_acquire)) {}
}

// CHECK-LABEL: {{^}}take_lock:
// CHECK-NOT: {{push|sub.*rsp}}
// CHECK: xchg
// CHECK-NOT: {{push|sub.*rsp}}
// CHECK: {{^[[:space:]]+j[a-z]+}}
void take_lock(void) {
  while (atomic_exchange(&lock, 1)) {}
}

// CHECK-LABEL: {{^}}take_ticket:
// CHECK-NOT: {{push|sub.*rsp}}
// CHECK: xadd
// CHECK-NOT: {{push|sub.*rsp}}
// CHECK: {{^[[:space:]]+j[a-z]+}}
void take_ticket(void) {
  int mine = atomic_fetch_add(&next, 1);
  while (atomic_load(&owner) != mine) {}
}

// The wait itself is behind the return, with the cold code.
// CHECK-LABEL: {{^}}wait_and_read:
// CHECK-NOT: {{push|sub.*rsp}}
// CHECK: {{^[[:space:]]+j[a-z]+}}
int wait_and_read(int *data) {
  while (!atomic_load_explicit(&flag, memory_order_acquire)) {}
  return *data;
}
