// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A compare-and-swap in inline assembly whose address is in a register.
//
// REQUIRES: host-x86_64
// RUN: %verify_c %s -o /dev/null

#include <sched.h>

static inline int cas(int new, volatile int *p, int old) {
  __asm__ volatile("lock cmpxchgl %1,(%3)"
                   : "=a"(new)
                   : "r"(new), "a"(old), "r"(p)
                   : "cc", "memory");
  return new;
}
volatile int word;
void lock_plain(void) {
  // expected-remark@+2 {{now wait in the runtime}}
  // expected-remark@+1 {{link with libvfrt}}
  while (cas(1, &word, 0) != 0) {
  }
}
void lock_yields_rarely(volatile int *l) {
  int spins = 0;
  for (;;) { // expected-remark {{now wait in the runtime}}
    if (!cas(1, l, 0))
      break;
    if ((++spins & 63) == 0)
      sched_yield();
  }
}

// An update: it expects what it has read.
void add(volatile int *p) {
  int seen;
  do // expected-remark {{(lock-free retry)}}
    seen = *p;
  while (cas(seen + 1, p, seen) != seen);
}

// An addition whose address is in a register is another effect.
static inline void increment(int *p) {
  __asm__ volatile("lock incl (%0)" : : "r"(p) : "cc", "memory");
}
int polls;
void counts(volatile int *flag) {
  while (!*flag)
    increment(&polls);
}
