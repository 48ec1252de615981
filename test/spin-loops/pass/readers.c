// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers of a lock overtake each other in an inner loop, which is no wait, and
// wait for its writer in the loop around it, which is one.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <stdatomic.h>
#include <stdbool.h>

#define WRITER 0x80000000u
#define pause __builtin_ia32_pause
atomic_uint readers;
void unlock_writer(void) { atomic_store(&readers, 0); }

static unsigned look_and_enter(void) {
  unsigned n = 0;
  // expected-remark@+1 4 {{lock-free retry}}
  while (!atomic_compare_exchange_weak(&readers, &n, n + 1))
    if (n & WRITER)
      return n;
  return 0;
}
static bool enter(void) { return look_and_enter() == 0; }

// CHECK-LABEL: @lock(
// CHECK: @vf_spin_wait_or_fallback(ptr nonnull @readers, i64 %{{.*}}, i64 %{{.*}}, i32 8452)
void lock(void) {
  // expected-remark-re@+2 {{(try-lock) on atomic 'readers' {{.*}}wait in the runtime}}
  // expected-remark@+1 {{link with libvfrt}}
  do
    pause();
  while (!enter());
}

bool lock_soon(int rounds) {
  // expected-remark@+1 {{(try-lock) on atomic 'readers' left as it is: it is bounded}}
  while (rounds--) {
    pause();
    if (enter())
      return true;
  }
  return false;
}

// Why not: nothing says that it waits; who does not get in may be told to try something else.
bool lock_or_leave(atomic_bool *leave) {
  // expected-remark@+1 {{lock-free retry}}
  while (!enter())
    if (atomic_load(leave))
      return false;
  return true;
}

// Why not: each iteration takes one more.
void take_all(atomic_uint *left) {
  for (;;) {
    pause();
    // The optimizer later joins both loops, and names the new one by this read.
    // expected-remark@+1 {{lock-free retry}}
    unsigned n = atomic_load(left);
    do
      if (n == 0)
        return;
    // expected-remark@-3 {{lock-free retry}}
    while (!atomic_compare_exchange_weak(left, &n, n - 1));
  }
}

// Why not: overtaken, it pauses and tries again what may succeed at once.
void add(atomic_uint *sum, unsigned what) {
  unsigned old = atomic_load(sum);
  // expected-remark@+1 {{lock-free retry}}
  while (!atomic_compare_exchange_weak(sum, &old, old + what))
    pause();
}
