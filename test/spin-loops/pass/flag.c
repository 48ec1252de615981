// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A flag or counter is polled until another thread changes it.
//
// RUN: %verify_c %s -o /dev/null

#include <sched.h>
#include <stdatomic.h>

int plain_flag;
long plain_counter;
volatile int volatile_flag;
atomic_int atomic_flag_word;
unsigned char byte_flag;
void *_Atomic published;
double plain_double;
int words[8];

// Each word has a writer in sight.
void set(void) {
  plain_flag = 1;
  plain_counter = 10;
  volatile_flag = 1;
  atomic_store_explicit(&atomic_flag_word, 1, memory_order_release);
  byte_flag = 1;
  atomic_store(&published, &plain_flag);
  plain_double = 1;
  words[3] = 1;
}

void wait_plain(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_flag' {{.*}}wait in the runtime; polling plain memory is a data race}}
  while (!plain_flag) {}
}

void wait_plain_counter(long goal) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_counter' {{.*}}wait in the runtime;}}
  while (plain_counter < goal) {}
}

void wait_plain_while_set(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_flag' {{.*}}wait in the runtime;}}
  while (plain_flag) {}
}

void wait_plain_bit(int mask) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_flag' {{.*}}wait in the runtime;}}
  while ((plain_flag & mask) == 0) {}
}

void wait_plain_byte(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'byte_flag' {{.*}}wait in the runtime;}}
  while (!byte_flag) {}
}

void wait_plain_double(void) {
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_double' {{.*}}wait in the runtime;}}
  while (plain_double == 0) {}
}

void wait_plain_element(int i) {
  // expected-remark-re@+1 {{(flag poll) on plain 'words' {{.*}}wait in the runtime;}}
  while (!words[i]) {}
}

void wait_volatile(void) {
  // expected-remark-re@+1 {{(flag poll) on volatile 'volatile_flag' {{.*}}wait in the runtime [}}
  while (!volatile_flag) {}
}

void wait_volatile_do(void) {
  // expected-remark-re@+1 {{(flag poll) on volatile 'volatile_flag' {{.*}}wait in the runtime [}}
  do {
  } while (volatile_flag != 3);
}

int wait_volatile_value(void) {
  int seen;
  // expected-remark-re@+1 {{(flag poll) on volatile 'volatile_flag' {{.*}}wait in the runtime [}}
  while ((seen = volatile_flag) == 0) {}
  return seen;
}

void wait_cast_to_volatile(void) {
  // expected-remark-re@+1 {{(flag poll) on volatile 'plain_flag' {{.*}}wait in the runtime [}}
  while (!*(volatile int *)&plain_flag) {}
}

void wait_c11(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'atomic_flag_word' {{.*}}wait in the runtime [}}
  while (!atomic_load_explicit(&atomic_flag_word, memory_order_acquire)) {}
}

void wait_c11_relaxed_then_fence(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'atomic_flag_word' {{.*}}wait in the runtime [}}
  while (!atomic_load_explicit(&atomic_flag_word, memory_order_relaxed)) {}
  atomic_thread_fence(memory_order_acquire);
}

void *wait_c11_pointer(void) {
  void *p;
  // expected-remark-re@+1 {{(flag poll) on atomic 'published' {{.*}}wait in the runtime [}}
  while (!(p = atomic_load(&published))) {}
  return p;
}

void wait_builtin(void) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'plain_counter' {{.*}}wait in the runtime [}}
  while (__atomic_load_n(&plain_counter, __ATOMIC_ACQUIRE) != 10) {}
}

void wait_sync_builtin(void) {
  // An addition of zero reads.
  // expected-remark-re@+1 {{on atomic 'plain_flag' {{.*}}wait in the runtime [}}
  while (__sync_fetch_and_add(&plain_flag, 0) == 0) {}
}

void wait_sync_or(void) {
  // expected-remark-re@+1 {{on atomic 'plain_flag' {{.*}}wait in the runtime [}}
  while (__sync_fetch_and_or(&plain_flag, 0) == 0) {}
}

void wait_with_barrier(void) {
  // The empty assembly keeps the compiler from hoisting the load.
  // expected-remark-re@+1 {{(flag poll) on plain 'plain_flag' {{.*}}wait in the runtime;}}
  while (!plain_flag)
    __asm__ volatile("" ::: "memory");
}

int wait_two(void) {
  // Two words, either of which ends the wait: no one word to block on.
  // expected-remark-re@+1 {{(flag poll) on volatile 'volatile_flag', atomic 'atomic_flag_word' {{.*}}wait in the runtime [}}
  while (!volatile_flag && !atomic_flag_word) {}
  return volatile_flag;
}

// Why not: the loop's effect, here the sum, would be lost on nobody, but it is
// the loop's own work, repeated for each value seen.
int not_work(int *out) {
  while (!atomic_load(&atomic_flag_word))
    ++*out;
  return *out;
}

// Why not: nobody else decides when it ends.
int not_counted(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i)
    sum += words[i & 7];
  return sum;
}

// Why not: it has no exit that anybody could cause.
void not_endless(void) {
  for (;;)
    (void)volatile_flag;
}

// Why not: plain memory in a counted loop is a search, which takes as long as
// the array is.
int not_search(int value) {
  for (int i = 0; i < 8; ++i)
    if (words[i] == value)
      return i;
  return -1;
}

// Why not: plain memory that is looked at in a bounded number of iterations cannot
// be told from everyday code, unless it pauses.
int not_bounded_plain(int n) {
  while (n-- && !plain_flag) {}
  return n;
}

// Of nginx. A number on the stack is no node of a queue. Why not the outer loop: each
// of its iterations is a piece of work, which may fail, and only waits for its end.
int post(volatile unsigned long *busy);
void one_by_one(unsigned n) {
  volatile unsigned long busy;
  for (unsigned i = 0; i < n; ++i) {
    busy = 1;
    if (post(&busy))
      return;
    // expected-remark-re@+1 {{(flag poll) on volatile memory {{.*}}wait in the runtime [}}
    while (busy)
      sched_yield();
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
