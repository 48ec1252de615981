// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that end when a second read finds what the first one found need nobody
// else; those that end when it finds something new do.
//
// RUN: %verify_c %s -o /dev/null

// REQUIRES: host-x86_64

#include <immintrin.h>
#include <stdatomic.h>
#include <stddef.h>

struct node { struct node *next; };
struct node *_Atomic head, *_Atomic hazard;
struct node *volatile vhead;
atomic_int version;
void change(struct node *n) {
  atomic_store(&head, n);
  atomic_fetch_add(&version, 1);
}

// Others must act: it waits for a change, and looks at what it read last.
int wait_for_change(void) {
  int last, now = atomic_load(&version);
  do { // expected-remark-re {{(flag poll) on atomic 'version' {{.*}}wait in the runtime}}
    last = now;
    now = atomic_load(&version);
  } while (now == last);
  return now;
}

// The same with two reads an iteration.
void wait_for_change_at_once(void) {
  int a, b;
  do { // expected-remark-re {{(flag poll) on atomic 'version' {{.*}}wait in the runtime}}
    a = atomic_load(&version);
    b = atomic_load(&version);
  } while (a == b);
}

// A lock word tried by assembly: what it expects is a constant.
struct node *volatile owner;
static inline unsigned char swap(struct node *volatile *p, struct node *expects,
                                 struct node *n) {
  unsigned char done;
  __asm__ volatile("lock cmpxchgq %3, %0; sete %1"
                   : "+m"(*p), "=q"(done), "+a"(expects)
                   : "r"(n)
                   : "memory", "cc");
  return done;
}
void lock_by_assembly(struct node *me) {
  while (!swap(&owner, NULL, me)) // expected-remark {{(try-lock) on volatile 'owner' wastes}}
    ;
}

// Why not: a pointer is published until it is still the one published.
struct node *not_hazard(void) {
  struct node *seen, *now = atomic_load(&head);
  do { // expected-remark {{(lock-free retry) on atomic 'head'}}
    seen = now;
    atomic_exchange(&hazard, NULL);
    now = atomic_load(&head);
  } while (seen != now);
  return seen;
}

// Why not: an optimistic reader, which ends when nothing was written meanwhile.
// It compares with what the iteration read first or what the loop inside it,
// which waits, read last.
int not_validating(atomic_ulong *bucket, const int *slots) {
  // llvm19-remark@+1 {{(lock-free retry) on atomic memory}}
  for (;;) {
    // llvm22-remark@+1 {{(lock-free retry) on atomic memory}}
    unsigned long seen = atomic_load(bucket);
    while (seen & 1) // expected-remark {{wait in the runtime}}
      seen = atomic_load(bucket);
    int found = slots[seen >> 1];
    if (atomic_load(bucket) == seen)
      return found;
  }
}

// Others must act: the same, but it ends when something was written.
int wait_for_another(atomic_ulong *bucket, const int *slots) {
  // llvm19-remark@+1 {{wait in the runtime}}
  for (;;) {
    // llvm22-remark@+1 {{wait in the runtime}}
    unsigned long seen = atomic_load(bucket);
    while (seen & 1) // expected-remark {{wait in the runtime}}
      seen = atomic_load(bucket);
    int found = slots[seen >> 1];
    if (atomic_load(bucket) != seen)
      return found;
  }
}

// Why not: the same as wait_for_change, the other way round.
int not_stable(void) {
  int last, now = atomic_load(&version);
  do { // expected-remark {{(lock-free retry) on atomic 'version'}}
    last = now;
    now = atomic_load(&version);
  } while (now != last);
  return now;
}

// Why not: it swaps for what it has just read, by assembly on a pointer.
void not_pushing(struct node *n) {
  struct node *seen;
  do // expected-remark {{(lock-free retry) on volatile 'vhead'}}
    seen = vhead;
  while (!swap(&vhead, seen, n));
}

// Why not: it expects what it read before the loop, and forgets to read again;
// as long as no other thread writes, the exchange succeeds at once.
int not_reading_again(volatile int *state) {
  int s = *state;
  while (!(s & 3)) // expected-remark {{(lock-free retry) on atomic memory}}
    if (__sync_bool_compare_and_swap(state, s, s + 4))
      return 1;
  return 0;
}

// Others must act: the value has to be free of the lowest bit first.
void wait_until_clear(int *n) {
  int s = *n & ~1;
  while (!__sync_bool_compare_and_swap(n, s, s | 1)) // expected-remark {{(try-lock) on atomic memory}}
    ;
}

// Others must act: what it expects comes from elsewhere.
void wait_for_turn(int *n, int turn) {
  while (!__sync_bool_compare_and_swap(n, turn, -1)) // expected-remark {{(try-lock) on atomic memory}}
    ;
}

// Why not: each path to the next iteration follows progress of another thread:
// the tail was read again and has changed, or an exchange found it changed.
struct link { struct link *_Atomic next; };
void not_appending(struct link *_Atomic *tail, struct link *n) {
  // llvm19-remark@+1 {{(lock-free retry)}}
  for (;;) {
    // Several latches: LLVM makes nested loops of them, each with a remark.
    // llvm22-remark@+1 1+ {{(lock-free retry)}}
    struct link *last = atomic_load(tail);
    if (last != atomic_load(tail))
      continue;
    struct link *next = atomic_load(&last->next), *none = NULL;
    if (next) {
      atomic_compare_exchange_strong(tail, &last, next);
      continue;
    }
    if (atomic_compare_exchange_strong(&last->next, &none, n))
      return;
  }
}

// Why not: goes on where the loop inside it has got to, over plain memory.
const char *not_scanning(const char *p, const char *end, const char *chunks[4]) {
  while (1) {
    while (p < end && *p != ',')
      p++;
    if (p < end)
      break;
    if (p >= chunks[0] && p < chunks[1] && chunks[2]) {
      p = chunks[2];
      end = chunks[3];
      continue;
    }
    break;
  }
  return p;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
