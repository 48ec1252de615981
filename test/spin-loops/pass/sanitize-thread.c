// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under ThreadSanitizer the program is to be checked as it was written: a plain
// poll made acquire would hide its race, and so would a store made release. That
// some function is not checked changes nothing: ThreadSanitizer sees its atomics,
// and would report them against the plain accesses of the others.
//
// RUN: %vf_clang -fsanitize=thread -O2 -S -emit-llvm %remarks %s -o - 2>&1 | FileCheck %s --implicit-check-not="call {{.*}}@vf_spin" --implicit-check-not="load atomic" --implicit-check-not=tsan_atomic

int plain;
void set(void) { plain = 1; }

// CHECK: (flag poll) on plain 'plain' left as it is: ThreadSanitizer checks the program as written; polling plain memory is a data race
// CHECK: (flag poll) on plain 'plain' left as it is: ThreadSanitizer checks the program as written
// CHECK: define {{.*}}@wait
// CHECK: define {{.*}}@unchecked
int wait(int *data) {
  while (!plain) {}
  return *data;
}

__attribute__((no_sanitize("thread"))) void unchecked(void) {
  while (!plain)
    __asm__ volatile("" ::: "memory");
}
