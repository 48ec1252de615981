// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// __attribute__((annotate("vfriendly:keep"))) leaves a function's loops as they
// are, wherever they are inlined: a latency-critical hand-over may be worth a
// vCPU to its author.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %verify_cxx -x c++ %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --implicit-check-not="call {{.*}}@vf_spin_wait"
// CHECK: define

#define KEEP __attribute__((annotate("vfriendly:keep")))

volatile int word;
int plain;
void set(void) {
  word = 1;
  plain = 1;
}

KEEP void kept(void) {
  // expected-remark@+1 {{(flag poll) on volatile 'word' left as it is: its function is marked vfriendly:keep}}
  while (!word) {}
}

KEEP void kept_lock(void) {
  // expected-remark@+1 {{(try-lock) on atomic 'plain' left as it is: its function is marked vfriendly:keep}}
  while (__sync_lock_test_and_set(&plain, 1)) {}
}

KEEP static inline void kept_inlined(void) {
  // expected-remark@+1 1+ {{(flag poll) on volatile 'word' left as it is: its function is marked vfriendly:keep}}
  while (!word) {}
}

int user(void) {
  kept_inlined();
  return plain;
}

KEEP static inline void kept_forced(void) __attribute__((always_inline));
static inline void kept_forced(void) {
  // expected-remark@+1 1+ {{(flag poll) on volatile 'word' left as it is: its function is marked vfriendly:keep}}
  while (word != 7) {}
}
int user_of_forced(void) {
  kept_forced();
  return plain;
}
