// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A read-modify-write is tried until it takes the lock.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>

atomic_int lock;
atomic_flag flag = ATOMIC_FLAG_INIT;
int word;
char byte;
volatile int vword;

void unlock(void) {
  atomic_store_explicit(&lock, 0, memory_order_release);
  atomic_flag_clear_explicit(&flag, memory_order_release);
  __sync_lock_release(&word);
  __atomic_clear(&byte, __ATOMIC_RELEASE);
  __sync_synchronize();
  vword = 0;
}

void lock_cas(void) {
  int expected = 0;
  // expected-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
  while (!atomic_compare_exchange_weak(&lock, &expected, 1))
    expected = 0;
}

void lock_cas_strong(void) {
  // llvm19-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
  for (;;) {
    int expected = 0;
    // llvm22-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
    if (atomic_compare_exchange_strong_explicit(
            &lock, &expected, 1, memory_order_acquire, memory_order_relaxed))
      break;
  }
}

void lock_exchange(void) {
  // expected-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
  while (atomic_exchange_explicit(&lock, 1, memory_order_acquire)) {}
}

void lock_flag(void) {
  // expected-remark-re@+1 {{(try-lock) on {{.*}}'flag' {{.*}}wait in the runtime [}}
  while (atomic_flag_test_and_set_explicit(&flag, memory_order_acquire)) {}
}

void lock_fetch_or(void) {
  // expected-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
  while (atomic_fetch_or(&lock, 4) & 4) {}
}

void lock_sync_bool(void) {
  // expected-remark-re@+1 {{(try-lock) on atomic 'word' {{.*}}wait in the runtime [}}
  while (!__sync_bool_compare_and_swap(&word, 0, 1)) {}
}

void lock_sync_val(void) {
  // expected-remark-re@+1 {{(try-lock) on atomic 'word' {{.*}}wait in the runtime [}}
  while (__sync_val_compare_and_swap(&word, 0, 1) != 0) {}
}

void lock_sync_test_and_set(void) {
  // expected-remark-re@+1 {{(try-lock) on atomic 'word' {{.*}}wait in the runtime [}}
  while (__sync_lock_test_and_set(&word, 1)) {}
}

void lock_builtin_test_and_set(void) {
  // expected-remark-re@+1 {{(try-lock) on atomic 'byte' {{.*}}wait in the runtime [}}
  while (__atomic_test_and_set(&byte, __ATOMIC_ACQUIRE)) {}
}

void lock_builtin_cas(int self) {
  int expected;
  // expected-remark-re@+1 {{(try-lock) on atomic 'word' {{.*}}wait in the runtime [}}
  do {
    expected = 0;
  } while (!__atomic_compare_exchange_n(&word, &expected, self, 0,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

void lock_volatile_word(void) {
  // expected-remark-re@+1 {{(try-lock) on atomic 'vword' {{.*}}wait in the runtime [}}
  while (__sync_lock_test_and_set(&vword, 1)) {}
}

// Why not: each success takes one more unit, and failing is no reason to wait:
// the expected value was read a moment ago. Left as it is, and said so.
void not_fetch_add_by_cas(void) {
  int seen = atomic_load(&lock);
  // expected-remark@+1 {{(lock-free retry) on atomic 'lock' left as it is: a retry can succeed at once}}
  while (!atomic_compare_exchange_weak(&lock, &seen, seen + 1)) {}
}

// Why not: each iteration adds to the word, which others can read.
void not_fetch_add(void) {
  while (atomic_fetch_add(&lock, 1) < 100) {}
}

// Why not: each iteration toggles the word.
void not_xor(void) {
  while (atomic_fetch_xor(&lock, 1)) {}
}

// Why not: what is exchanged differs from iteration to iteration.
void not_exchange_counter(void) {
  int i = 0;
  while (atomic_exchange(&lock, i++)) {}
}

// Why not: it goes on as long as it succeeds; each iteration is work done.
void not_while_success(int a, int b) {
  while (__sync_bool_compare_and_swap(&word, a, b)) {}
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
