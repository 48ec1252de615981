// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which counts may have iterations taken off: those whose end can be computed before
// the loop, in loops that do nothing but look at words and count.
//
// RUN: %verify_c %s -o /dev/null

#include <sched.h>
#include <stdatomic.h>

atomic_int flag, other;
volatile int word;
int limit;
void set(int v) {
  atomic_store(&flag, v);
  atomic_store(&other, v);
  word = v;
  limit = v;
}

int up(int n) {
  int i;
  // expected-remark-re@+2 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
  // expected-remark@+1 {{link with libvfrt}}
  for (i = 0; i < n; ++i)
    if (atomic_load(&flag))
      break;
  return i;
}

unsigned down_by_three(unsigned n) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
  for (; n > 10; n -= 3)
    if (atomic_load(&flag))
      break;
  return n;
}

// Wraps around on the way.
unsigned to_an_equal(unsigned i, unsigned n) {
  // expected-remark-re@+1 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
  while (i != n && !atomic_load(&flag))
    ++i;
  return i;
}

unsigned two_counters(unsigned n) {
  unsigned i, j = n;
  // expected-remark-re@+1 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
  for (i = 0; i < 50000 && j != 0; ++i, j -= 1)
    if (word)
      break;
  return i * 3 + j;
}

int in_memory(void) {
  int i = 0, *p = &i;
  // expected-remark-re@+1 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
  while (!atomic_load(&flag) && *p < 100000)
    ++*p;
  return i;
}

int last_seen(int n) {
  int seen = 0;
  // expected-remark-re@+1 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
  for (int i = 0; i < n; ++i)
    if ((seen = atomic_load(&flag)) > 7)
      break;
  return seen;
}

int nested(int n) {
  for (int o = 0; o < n; ++o) {
    atomic_store(&other, o);
    // expected-remark-re@+1 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
    for (int i = o; i < 40000; ++i)
      if (atomic_load(&flag))
        return i;
  }
  return -1;
}

// Done before another thread could run and return.
int small(void) {
  // expected-remark@+1 {{left as it is: its bound is reached in less time than a context switch takes}}
  for (int i = 0; i < 100; ++i)
    if (atomic_load(&flag))
      return 1;
  return 0;
}

// Each failed iteration reads both.
int two_words(int n) {
  int i;
  // expected-remark-re@+1 {{(flag poll) {{.*}}for at most as long as the loop would spin}}
  for (i = 0; i < n; ++i)
    if (atomic_load(&flag) || atomic_load(&other))
      break;
  return i;
}

// Why not: a failed iteration may have read the first word only. What the second held is unknown.
int not_both_words(int n) {
  int i;
  // expected-remark@+1 {{it is bounded, and an iteration polls several words, not all of which can be read again}}
  for (i = 0; i < n; ++i)
    if (atomic_load(&flag) && atomic_load(&other))
      break;
  return i;
}

// Why not: volatile memory is read as often as the program says.
int not_two_volatile_words(int n) {
  int i;
  // expected-remark@+1 {{it is bounded, and an iteration polls several words, not all of which can be read again}}
  for (i = 0; i < n; ++i)
    if (atomic_load(&flag) || word)
      break;
  return i;
}

// No wait: the iterations look at different words.
atomic_int slots[4];
int not_in_turn(int n) {
  int i;
  for (i = 0; i < n; ++i)
    if (atomic_load(&flag) || atomic_load(&slots[i & 3]))
      break;
  return i;
}

// Why not: a volatile counter is read and written as often as it says.
int not_a_volatile_counter(void) {
  volatile int i = 0;
  // expected-remark@+1 {{left as it is}}
  while (!atomic_load(&flag) && i < 35000)
    i++;
  return i;
}

// Why not: the iterations that are skipped would not write.
int not_writing(int n) {
  volatile int progress = 0;
  // expected-remark-re@+1 {{(flag poll) {{.*}}it is bounded, and it writes memory between polls}}
  for (int i = 0; i < n; ++i) {
    if (atomic_load(&flag))
      break;
    progress = i;
  }
  return progress;
}

// Why not: its step is not constant.
int not_doubling(unsigned n) {
  unsigned i;
  // expected-remark@+1 {{it is bounded, and an iteration uses a value of the previous one}}
  for (i = 1; i < n; i = i * 3 + 1)
    if (atomic_load(&flag))
      break;
  return i != 0;
}

// Why not: another thread may move the bound, and the loop reads it each time.
int not_a_moving_bound(void) {
  int i;
  // expected-remark@+1 {{it is bounded, and}}
  for (i = 0; i < limit; ++i)
    if (atomic_load(&flag))
      break;
  return i;
}

// Why not: it gives the CPU to others itself.
int not_yielding(int n) {
  int i;
  // expected-remark@+1 {{it is bounded, and yields already}}
  for (i = 0; i < n; ++i) {
    if (atomic_load(&flag))
      break;
    sched_yield();
  }
  return i;
}

// Why not the outer loop: the inner one gives way for as long as its bound lasts, and another yield beside its author's costs the
// time slice of another thread.
int not_yielding_twice(int n) {
  // expected-remark@+1 {{it yields, and the loop inside it waits in the runtime}}
  for (;;) {
    // expected-remark@+1 {{wait in the runtime, for at most as long as the loop would spin}}
    for (int i = 0; i < n; ++i)
      if (atomic_load(&flag))
        return i;
    sched_yield();
  }
}

// Why not: a back-off makes each iteration longer than the one before. Their number is no measure
// of time, and a wait that takes iterations off by time would give up far too early.
int not_backing_off(unsigned n) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}it is bounded, and some of its iterations take longer than others}}
  for (unsigned i = 0; i < n; ++i) {
    if (atomic_load_explicit(&flag, memory_order_acquire))
      return 1;
    for (unsigned j = 0; j < i; ++j)
      __asm__ volatile("");
  }
  return 0;
}

// Why not: a poll's cost is measured for the place, and the next caller's delay may be longer.
int not_delaying_as_told(unsigned n, unsigned length) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}it is bounded, and some of its iterations take longer than others}}
  for (unsigned i = 0; i < n; ++i) {
    if (atomic_load_explicit(&flag, memory_order_acquire))
      return 1;
    for (unsigned j = 0; j < length; ++j)
      __asm__ volatile("");
  }
  return 0;
}

// A delay of one length.
int delaying_evenly(unsigned n) {
  // expected-remark-re@+1 {{(flag poll) on atomic 'flag' {{.*}}wait in the runtime, for at most as long as the loop would spin}}
  for (unsigned i = 0; i < n; ++i) {
    if (atomic_load_explicit(&flag, memory_order_acquire))
      return 1;
    for (unsigned j = 0; j < 50; ++j)
      __asm__ volatile("");
  }
  return 0;
}
