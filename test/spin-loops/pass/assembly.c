// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass and the check read assembly by the same rules: each loop here is
// reported by both, or by neither.
//
// REQUIRES: host-x86_64
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

volatile int word, turn;

void unlock(void) { word = 0; }

// Known to the pass alone before: a result beside the bits that are set.
void lock_or(void) {
  char bit;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on a try-lock, inline assembly
  // expected-remark-re@+1 {{(try-lock) on volatile 'word' {{.*}}wait in the runtime [}}
  do {
    __asm__ volatile("lock; orl %2, %0\n\tsetc %1"
                     : "+m"(word), "=q"(bit)
                     : "ir"(1)
                     : "memory", "cc");
  } while (bit);
}

// Why not: without a lock prefix it is not atomic, so that it takes no lock.
void not_unlocked_or(void) {
  char bit;
  do {
    __asm__ volatile("orl %2, %0\n\tsetc %1"
                     : "+m"(word), "=q"(bit)
                     : "ir"(1)
                     : "memory", "cc");
  } while (bit);
}

// Why not: it reads no clock, but changes memory.
void not_clock(void) {
  while (!turn)
    __asm__ volatile("or %1, %0" : "+m"(word) : "r"(1) : "memory", "cc");
}

// Why not: a repeated comparison of strings is no pause.
void not_pause(const char *a, const char *b, long n) {
  while (!turn)
    __asm__ volatile("repe cmpsb" : "+S"(a), "+D"(b), "+c"(n) : : "memory");
}

// Why not: one of the two objects changes each time.
void not_rotation(int *a, int *b) {
  while (!turn)
    __asm__ volatile("xchgl %%eax, %0; xchgl %%eax, %1"
                     : "+m"(*a), "+m"(*b)
                     :
                     : "eax", "memory");
}

// Why not: it reads and writes memory in two steps.
void not_exchange_by_moves(void) {
  int v;
  do {
    __asm__ volatile("movl %1, %0\n\tmovl $1, %1"
                     : "=&r"(v), "+m"(word)
                     :
                     : "memory");
  } while (v);
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
