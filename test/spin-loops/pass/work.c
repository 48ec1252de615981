// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Work that watches a flag is not a wait: blocking in it would stop the work.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <stdatomic.h>

atomic_int stop;
void end(void) { atomic_store(&stop, 1); }

// What is counted is the result.
// CHECK-LABEL: @count(
// CHECK-NOT: call {{.*}}@vf_spin_wait
// CHECK: ret i64
long count(void) {
  long n = 0;
  while (!atomic_load(&stop))
    ++n;
  return n;
}

// So is what is computed.
// CHECK-LABEL: @random_walk(
// CHECK-NOT: call {{.*}}@vf_spin_wait
// CHECK: ret i32
unsigned random_walk(unsigned x) {
  while (!atomic_load(&stop))
    x ^= x << 13, x ^= x >> 17, x ^= x << 5;
  return x;
}

// A search that can be cancelled goes through memory of its own.
// CHECK-LABEL: @sum(
// CHECK-NOT: call {{.*}}@vf_spin_wait
// CHECK-NOT: call void @llvm.x86.sse2.pause
// CHECK: ret i64
long sum(const int *a, long n) {
  long total = 0;
  for (long i = 0; i < n && !atomic_load(&stop); ++i)
    total += a[i];
  return total;
}

// A count that nobody reads is part of a wait.
// CHECK-LABEL: @wait_counting(
// CHECK: call {{.*}}@vf_spin_wait
void wait_counting(void) {
  int rounds = 0;
  while (!atomic_load(&stop))
    ++rounds;
}

// A back-off that goes on where it was when the lock is lost again is none.
// CHECK-LABEL: @lock_backing_off(
// CHECK: call {{.*}}@vf_spin_wait
// CHECK: ret void
atomic_int word;
void unlock(void) { atomic_store(&word, 0); }
void lock_backing_off(void) {
  unsigned backoff = 512;
  while (atomic_exchange(&word, 1))
    while (atomic_load(&word)) {
      for (unsigned i = 0; i < backoff; ++i)
        __asm__ volatile("" ::: "memory");
      if (backoff < 1 << 20)
        backoff <<= 1;
    }
}

// Nor is a count of the slow iterations among others.
// CHECK-LABEL: @wait_a_while(
// CHECK: call void {{@llvm.x86.sse2.pause|@llvm.aarch64.isb|asm sideeffect ".insn i 0x0F,}}
// CHECK: {{^}}}
long clock(void);
int wait_a_while(void) {
  int slow = 0;
  long before = clock();
  while (!atomic_load(&word)) {
    long now = clock();
    if (now - before > 100 && ++slow > 3)
      return 0;
    before = now;
  }
  return 1;
}

// Nor is an exchange on whose result no exit depends; but a wait may set its own
// bit again and again.
atomic_int stop, slot;
void stop_it(void) { atomic_store(&stop, 1); }
// CHECK-LABEL: @help_others(
// CHECK-NOT: vf_spin
// CHECK: {{^}}}
void help_others(void) {
  while (!atomic_load(&stop))
    atomic_exchange(&slot, 1);
}
// CHECK-LABEL: @set_own_bit(
// CHECK: vf_spin
// CHECK: {{^}}}
void set_own_bit(void) {
  while (!atomic_load(&stop))
    atomic_fetch_or(&slot, 1);
}
