// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches that start again while they meet what another thread is about to
// remove. Other threads write the number of levels or of buckets, too, but do
// not end the search by that. Each has a twin that waits: there, what the
// inner loop meets is at a place that the iteration before has looked at, too.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --check-prefix=TIDY --implicit-check-not=warning:

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node {
  long key;
  int levels;
  struct node *next[];
};
struct item {
  long key;
  struct item *next;
};

extern unsigned levels;
extern atomic_uint atomic_levels, buckets;
extern volatile unsigned depth;
extern struct node *head;
extern struct item *bucket[];

static bool marked(void *p) { return (uintptr_t)p & 1; }
static void *clear(void *p) { return (void *)((uintptr_t)p & ~1ul); }

// As in ASCYLIB's skip lists: inlined into its callers, it reads plain memory.
static inline void search(long key, struct node **before, struct node **after) {
  struct node *left, *left_next, *right, *right_next;
again:
  left = head;
  for (int i = levels - 1; i >= 0; i--) {
    left_next = left->next[i];
    if (marked(left_next))
      goto again;
    for (right = left_next;; right = right_next) {
      right_next = right->next[i];
      while (marked(right_next)) {
        right = clear(right_next);
        right_next = right->next[i];
      }
      if (right->key >= key)
        break;
      left = right;
      left_next = right_next;
    }
    if (left_next != right &&
        !__sync_bool_compare_and_swap(&left->next[i], left_next, right))
      goto again;
    before[i] = left;
    after[i] = right;
  }
}

// CHECK-LABEL: define {{.*}}@insert(
// CHECK-NOT: vf_spin
// CHECK-LABEL: define
void insert(struct node *n) {
  struct node *before[64], *after[64];
  search(n->key, before, after);
  for (int i = 0; i < n->levels; i++)
    for (;;) {
      n->next[i] = after[i];
      if (__sync_bool_compare_and_swap(&before[i]->next[i], after[i], n))
        break;
      search(n->key, before, after);
    }
}

// The number of levels is atomic, and a hint is given before it starts again.
struct node *find(long key) {
again:;
  struct node *left = head, *next;
  for (int i = atomic_load(&atomic_levels); i >= 0; i--) {
    next = __atomic_load_n(&left->next[i], __ATOMIC_ACQUIRE);
    if (marked(next)) {
      sched_yield();
      goto again;
    }
    while (next && next->key < key) {
      left = next;
      next = __atomic_load_n(&left->next[i], __ATOMIC_ACQUIRE);
    }
  }
  return left;
}

// How the inner loop was left is tested after it.
struct node *find_flat(long key) {
  for (;; __builtin_ia32_pause()) {
    struct node *left = head, *next;
    int i;
    for (i = levels - 1; i >= 0; i--) {
      next = left->next[i];
      if (marked(next))
        break;
      while (next && next->key < key) {
        left = next;
        next = left->next[i];
      }
    }
    if (i < 0)
      return left;
  }
}

// The walk that decides is two loops inside.
long sum(void) {
again:;
  long all = 0;
  unsigned n = atomic_load(&buckets);
  for (unsigned i = 0; i < n; i++)
    for (struct item *p = bucket[i]; p; p = p->next) {
      if (p->key < 0)
        goto again;
      all += p->key;
    }
  return all;
}

long sum_stack(void) {
  long all = 0;
again:
  for (unsigned i = 0; i < depth; i++)
    for (struct item *p = bucket[i]; p; p = p->next) {
      if (p->key == 0)
        goto again;
      all += p->key;
    }
  return all;
}

// What the walk finds decides whether a flag is looked at.
extern atomic_int closed;
struct item *find_closed(long key) {
  for (;;) {
    struct item *p = bucket[0];
    while (p && p->key < key)
      p = p->next;
    if (p && p->key == -1)
      continue;
    if (atomic_load(&closed))
      return p;
  }
}

// What it has found when the flag is set is used after the loop.
struct item *find_until(struct item *p) {
  while (!atomic_load(&closed)) {
    __builtin_ia32_pause();
    p = p->next;
  }
  return p;
}

// The inner loop counts in the plain memory that lets it start again.
extern unsigned char tries[64];
void each_tried(int n) {
again:
  __builtin_ia32_pause();
  for (int i = 0; i < n; i++)
    if (tries[i]++ < 10)
      goto again;
}

// A search for a free bit: each iteration looks at another one, until none is
// left, and tries again where it was overtaken.
int take_free(atomic_int *free, int *found) {
  int bit = 1;
  int i = 0;
  do {
    int seen = atomic_load_explicit(free, memory_order_relaxed);
    if (!seen)
      break;
    if (!(seen & bit)) {
      ++i;
      bit <<= 1;
      continue;
    }
    if (atomic_compare_exchange_strong(free, &seen, seen & ~bit)) {
      *found = i;
      return 1;
    }
  } while (i < 32);
  return 0;
}

//===--- Twins ------------------------------------------------------------===//

// The words are polled, not their number.
extern atomic_int passed[64], threads;
extern int plain_threads;
void all_passed(void) {
again:
  // TIDY: :[[@LINE+1]]:3: warning: loop spins on atomic 'passed[i]'
  for (int i = 0; i < threads; i++)
    // expected-remark@+2 {{(flag poll) on atomic 'passed' wastes}}
    // expected-remark@+1 {{link with libvfrt}}
    if (!atomic_load(&passed[i]))
      goto again;
}

void all_passed_plain(void) {
again:
  // TIDY: :[[@LINE+1]]:3: warning: loop spins on atomic 'passed[i]'
  for (int i = 0; i < plain_threads; i++)
    // expected-remark@+1 {{(flag poll) on atomic 'passed' wastes}}
    if (!atomic_load(&passed[i]))
      goto again;
}

static bool have_passed(void) {
  for (int i = 0; i < threads; i++)
    if (!atomic_load(&passed[i]))
      return false;
  return true;
}
void all_passed_by_call(void) {
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on atomic 'passed[i]'
  // expected-remark@+1 {{(flag poll) on atomic 'passed' wastes}}
  while (!have_passed())
    __builtin_ia32_pause();
}

void all_passed_after(void) {
  int i;
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on atomic {{.*}}several objects
  // expected-remark@+1 {{(flag poll) on atomic 'passed', atomic 'threads' wastes}}
  do {
    for (i = 0; i < threads; i++)
      if (!atomic_load(&passed[i]))
        break;
  } while (i < threads);
}

int one_passed(void) {
  // TIDY: :[[@LINE+1]]:3: warning: loop spins on atomic 'passed[i]'
  for (;;)
    for (int i = 0; i < threads; i++)
      // expected-remark@+1 {{(flag poll) on atomic 'passed' wastes}}
      if (atomic_load(&passed[i]))
        return i;
}

// A test of the polled word against the count of the inner loop is no bound.
extern atomic_ulong map;
int one_free(void) {
  // TIDY: :[[@LINE+1]]:3: warning: loop spins on atomic 'map'
  for (;;)
    for (int i = 0; i < 64; i++)
      // expected-remark@+1 {{(flag poll) on atomic 'map' wastes}}
      if (!(atomic_load(&map) & (1ul << i)))
        return i;
}

// The count only bounds the wait until none is left.
int all_taken(atomic_int *free) {
  // TIDY: :[[@LINE+2]]:3: warning: loop spins on atomic '*free'
  // expected-remark@+1 {{(flag poll) on atomic memory behind a pointer wastes}}
  for (int i = 0; i < 100000; ++i)
    if (!atomic_load(free))
      return 1;
  return 0;
}

// A word that is read in every 1024th iteration only is none that is searched.
int take_cell(volatile unsigned long *cell, volatile unsigned long *tail,
              unsigned long mine) {
  unsigned long last = 0;
  int tries = 0;
  // TIDY: :[[@LINE+1]]:3: warning: loop spins on volatile '*cell'
  while (1) {
    // expected-remark@+1 {{(flag poll) on volatile memory behind a pointer wastes}}
    unsigned long seen = *cell;
    if (seen == mine)
      return 1;
    if ((tries & 1023) == 0)
      last = *tail;
    if (last < mine + 1 || tries > 200000) {
      if (__sync_bool_compare_and_swap(cell, seen, mine + 64))
        return 0;
    } else {
      ++tries;
    }
  }
}
