// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locks taken by inline assembly: exchange, compare and exchange, bit test and
// set, spelt the ways real programs spell them.
//
// REQUIRES: host-x86_64
// RUN: %verify_c %s -o /dev/null
// RUN: %verify_cxx -x c++ %s -o /dev/null

volatile int word;

void unlock(void) { word = 0; }

static inline int exchange(volatile int *p, int v) {
  __asm__ volatile("xchgl %0, %1" : "=r"(v), "+m"(*p) : "0"(v) : "memory");
  return v;
}

void lock_xchg(void) {
  // expected-remark-re@+1 {{(try-lock) on volatile 'word' {{.*}}wait in the runtime [}}
  while (exchange(&word, 1)) {}
}

void lock_lock_xchg(void) {
  int v;
  // expected-remark-re@+1 {{(try-lock) on volatile 'word' {{.*}}wait in the runtime [}}
  do {
    v = 1;
    __asm__ __volatile__("lock; xchgl %0,%1" : "+r"(v), "+m"(word) : : "memory");
  } while (v);
}

static inline int compare_exchange(volatile int *p, int old, int val) {
  int result;
  __asm__ volatile("lock cmpxchgl %2,%1"
                   : "=a"(result), "+m"(*p)
                   : "r"(val), "0"(old)
                   : "memory", "cc");
  return result;
}

void lock_cmpxchg(void) {
  // expected-remark-re@+1 {{(try-lock) on volatile 'word' {{.*}}wait in the runtime [}}
  while (compare_exchange(&word, 0, 1) != 0) {}
}

// The word that the loop inside waits for is taken: TBB's thread list.
void lock_waiting_first(void) {
  int seen;
  // expected-remark@+1 {{(test-and-test-and-set) on volatile 'word' left as it is: the loop inside}}
  do {
    // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
    while ((seen = word) & 1) {}
  } while (compare_exchange(&word, seen, seen | 1) != seen);
}

static inline char cas_bool(volatile int *p, int old, int val) {
  char ok;
  // As nginx spells it.
  __asm__ volatile("    lock;          "
                   "    cmpxchgl  %3, %1;   "
                   "    sete      %0;       "
                   : "=a"(ok)
                   : "m"(*p), "a"(old), "r"(val)
                   : "cc", "memory");
  return ok;
}

void lock_cmpxchg_sete(void) {
  // expected-remark-re@+1 {{(try-lock) on volatile 'word' {{.*}}wait in the runtime [}}
  while (!cas_bool(&word, 0, 1)) {}
}

void lock_bts(void) {
  char was;
  // expected-remark-re@+1 {{(try-lock) on volatile 'word' {{.*}}wait in the runtime [}}
  do {
    __asm__ volatile("lock btsl $0, %0\n\tsetc %1"
                     : "+m"(word), "=q"(was)
                     :
                     : "memory", "cc");
  } while (was);
}

void lock_with_pause(void) {
  // expected-remark-re@+1 {{(try-lock) on volatile 'word' {{.*}}wait in the runtime [}}
  while (exchange(&word, 1))
    __asm__ volatile("rep; nop" ::: "memory");
}

void poll_by_asm(void) {
  int v;
  // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
  do {
    __asm__ volatile("movl %1, %0" : "=r"(v) : "m"(word) : "memory");
  } while (v);
}

// Why not: each iteration adds, and others see the sum.
void not_xadd(void) {
  int v;
  do {
    v = 1;
    __asm__ volatile("lock; xaddl %0, %1" : "+r"(v), "+m"(word) : : "memory");
  } while (v < 10);
}

// Why not: assembly that nobody here understands may do anything.
void not_unknown(void) {
  int v;
  do {
    __asm__ volatile("in %%dx, %%eax" : "=a"(v) : "m"(word));
  } while (v);
}

// Why not: a system call is work.
void not_syscall(void) {
  long v;
  do {
    __asm__ volatile("syscall" : "=a"(v) : "0"(24L) : "rcx", "r11", "memory");
  } while (v && !word);
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
