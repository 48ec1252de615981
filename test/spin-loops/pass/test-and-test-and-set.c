// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lock is read until it looks free, and only then tried.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>

atomic_int lock;
volatile int word;
void pause_hint(void);

void unlock(void) {
  atomic_store(&lock, 0);
  word = 0;
}

void lock_nested(void) {
  // expected-remark@+1 {{(test-and-test-and-set) on atomic 'lock' left as it is: the loop inside it waits for the same lock}}
  while (atomic_exchange(&lock, 1)) {
    // expected-remark-re@+1 {{(flag poll) on atomic 'lock' {{.*}}wait in the runtime [}}
    while (atomic_load_explicit(&lock, memory_order_relaxed)) {}
  }
}

// In LLVM 19 a loop without a condition begins at its first statement or before.
void lock_for_ever(void) {
  // llvm19-remark@+1 {{(test-and-test-and-set) on atomic 'lock' left as it is: the loop inside it waits for the same lock}}
  for (;;) {
    // expected-remark-re@+1 {{(flag poll) on atomic 'lock' {{.*}}wait in the runtime [}}
    while (atomic_load(&lock)) {}
    // llvm22-remark@+1 {{(test-and-test-and-set) on atomic 'lock' left as it is: the loop inside it waits for the same lock}}
    if (!atomic_exchange(&lock, 1))
      return;
  }
}

void lock_and(void) {
  // expected-remark-re@+1 {{(test-and-test-and-set) on {{.*}}atomic 'lock'{{.*}}wait in the runtime [}}
  while (atomic_load(&lock) || atomic_exchange(&lock, 1)) {}
}

void lock_and_cas(void) {
  int zero = 0;
  for (;;) { // expected-remark-re {{(test-and-test-and-set) on {{.*}}atomic 'lock'{{.*}}wait in the runtime [}}
    if (!atomic_load_explicit(&lock, memory_order_relaxed) &&
        atomic_compare_exchange_weak(&lock, &zero, 1))
      return;
    zero = 0;
  }
}

void lock_if(void) {
  for (;;) { // expected-remark-re {{(test-and-test-and-set) on {{.*}}atomic 'lock'{{.*}}wait in the runtime [}}
    if (atomic_load(&lock) == 0)
      if (atomic_exchange(&lock, 1) == 0)
        break;
  }
}

void lock_volatile_word(void) {
  // expected-remark@+1 {{(test-and-test-and-set) on atomic 'word' left as it is: the loop inside it waits for the same lock}}
  while (__sync_lock_test_and_set(&word, 1)) {
    // expected-remark-re@+1 {{(flag poll) on volatile 'word' {{.*}}wait in the runtime [}}
    while (word) {}
  }
}

// Between the tries it calls a function that may do work.
void calling(void) {
  // expected-remark@+1 {{(test-and-test-and-set) on atomic 'lock' left as it is: it calls 'pause_hint', whose effects are unknown}}
  while (atomic_load(&lock) || atomic_exchange(&lock, 1))
    pause_hint();
}

// What is expected has a bit cleared that only the holder clears.
void wait_for_bit(void) {
  int seen = atomic_load(&lock);
  // llvm19-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
  for (;;) {
    int free = seen & ~1;
    // llvm22-remark-re@+1 {{(try-lock) on atomic 'lock' {{.*}}wait in the runtime [}}
    if (atomic_compare_exchange_strong(&lock, &free, free | 1))
      return;
    seen = free;
  }
}

// The word that the loop inside waits for is taken, as a whole.
void wait_then_take(void) {
  int seen;
  // expected-remark@+1 {{(test-and-test-and-set) on atomic 'lock' left as it is: the loop inside}}
  do {
    // expected-remark-re@+1 {{(flag poll) on atomic 'lock' {{.*}}wait in the runtime [}}
    while ((seen = atomic_load(&lock)) & 1) {}
  } while (!atomic_compare_exchange_strong(&lock, &seen, seen | 1));
}

// Why not: it finds room first, then advances the head, which others may do too.
atomic_int head, tail;
void not_taking(void) {
  int seen;
  // expected-remark@+1 {{(lock-free retry) on atomic 'head' left as it is}}
  do {
    // expected-remark-re@+1 {{(flag poll) {{.*}}wait in the runtime [}}
    while ((seen = atomic_load(&head)) - atomic_load(&tail) > 7) {}
  } while (!atomic_compare_exchange_strong(&head, &seen, seen + 1));
}
void consume(void) { atomic_fetch_add(&tail, 1); }

// Why not: the expected value comes from the read before, whatever it is: a
// lock-free update.
void not_update(void) {
  // llvm19-remark@+1 {{(lock-free retry) on atomic 'lock' left as it is: a retry can succeed at once}}
  for (;;) {
    int seen = atomic_load(&lock);
    // llvm22-remark@+1 {{(lock-free retry) on atomic 'lock' left as it is: a retry can succeed at once}}
    if (atomic_compare_exchange_weak(&lock, &seen, seen + 2))
      return;
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}

// A bit that only others clear, given up for good when another one is set: the
// first is still waited for.
struct cell {
  struct cell *_Atomic link;
};
void found(struct cell *c);
int wait_for_bit_unless_closed(struct cell *c) {
  unsigned long seen = (unsigned long)atomic_load(&c->link);
  struct cell *next = (struct cell *)(seen & ~1ul);
  // llvm19-remark-re@+1 {{(test-and-test-and-set) on atomic memory{{.*}}wait in the runtime [}}
  for (;;) {
    struct cell *taken = (struct cell *)((unsigned long)next | 1);
    // llvm22-remark-re@+1 {{(test-and-test-and-set) on atomic memory{{.*}}wait in the runtime [}}
    int won = atomic_compare_exchange_strong(&c->link, &next, taken);
    seen = (unsigned long)atomic_load(&c->link);
    next = (struct cell *)(seen & ~1ul);
    if (won) {
      found(c);
      return 1;
    } else if (seen & 2)
      return 0;
  }
}
// expected-remark@* 0-1 {{link with libvfrt}}

// Both loops are left when there is nothing to protect.
atomic_int empty;
void set_empty(int is) { atomic_store(&empty, is); }
int lock_unless_empty(void) {
  // llvm22-remark-re@+2 {{(flag poll) on atomic 'empty'{{.*}}wait in the runtime}}
  // expected-remark-re@+1 {{(test-and-test-and-set) on atomic 'lock'{{.*}} left as it is: the loop inside it waits for the same lock}}
  while (atomic_exchange(&lock, 1)) {
    // llvm19-remark-re@+1 {{(flag poll) on atomic 'empty'{{.*}}wait in the runtime}}
    for (;;) {
      if (atomic_load(&empty))
        return 0;
      else if (!atomic_load(&lock))
        break;
    }
  }
  return 1;
}

// The loop tests again what the one inside it has waited for.
atomic_uint read_to;
void read_one(void) { atomic_fetch_add(&read_to, 1); }
int slot;
void write_one(unsigned next) {
  do {
    // expected-remark@+1 {{(flag poll) on atomic 'read_to'}}
    while (next == atomic_load(&read_to)) pause_hint();
    // expected-remark@+1 {{(flag poll) on atomic 'read_to'}}
    if (next != atomic_load(&read_to)) {
      slot = 1;
      return;
    }
  } while (1);
}

// Why not: an update that finds room first, or gives up. It ends other waits
// for the number, so it notifies them.
atomic_uint used;
void free_all(void) { atomic_store(&used, 0); }
int use_one_unless_empty(void) {
  unsigned seen;
  // expected-remark-re@* {{(lock-free retry) on {{.*}}'used' left as it is}}
  do {
    // expected-remark-re@* {{(flag poll) on {{.*}}'used' {{.*}}wait in the runtime [}}
    for (;;) {
      if (atomic_load(&empty))
        return 0;
      seen = atomic_load(&used);
      if (seen < 100)
        break;
    }
  } while (!atomic_compare_exchange_weak(&used, &seen, seen + 1));
  return 1;
}
