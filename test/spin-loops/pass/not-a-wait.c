// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that look like waits and are none. Nothing is said about most of them,
// and nothing may be put into any.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -std=gnu11 -O2 -S -emit-llvm %s -o - | FileCheck %s --implicit-check-not=vf_spin_wait --implicit-check-not=sse2.pause
// CHECK: define

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct node {
  struct node *next;
  struct node *_Atomic anext;
  int key;
};

// A lock-free stack's push stores into the node what it saw.
struct node *_Atomic top;
void push(struct node *n) {
  struct node *seen = atomic_load(&top);
  do
    n->next = seen;
  while (!atomic_compare_exchange_weak(&top, &seen, n));
}

// Pop reads the node it is about to take; it succeeds at once unless overtaken.
struct node *pop(void) {
  struct node *seen = atomic_load(&top);
  // expected-remark@+1 {{(lock-free retry) on atomic 'top'}}
  while (seen && !atomic_compare_exchange_weak(&top, &seen, seen->next)) {}
  return seen;
}

// An addition by compare and exchange.
atomic_int sum;
int add(int n) {
  int seen = atomic_load(&sum);
  // expected-remark@+1 {{(lock-free retry) on atomic 'sum'}}
  while (!atomic_compare_exchange_weak(&sum, &seen, seen + n)) {}
  return seen;
}

// The same with __sync, reading afresh each time.
int old_sum;
void add_sync(int n) {
  int seen;
  do // expected-remark-re {{(lock-free retry) on {{.*}}'old_sum'}}
    seen = *(volatile int *)&old_sum;
  while (!__sync_bool_compare_and_swap(&old_sum, seen, seen + n));
}

// A maximum: it leaves when there is nothing to do.
void maximum(int n) {
  int seen = atomic_load(&sum);
  // expected-remark@+1 {{(lock-free retry) on atomic 'sum'}}
  while (seen < n && !atomic_compare_exchange_weak(&sum, &seen, n)) {}
}

// RCU-like: reads a pointer until it is the same before and after.
void *_Atomic slot;
void *_Atomic hazard;
void *protect(void) {
  void *p;
  do {
    p = atomic_load(&slot);
    atomic_store(&hazard, p);
  } while (p != atomic_load(&slot));
  return p;
}

// A walk along a list takes as long as the list is.
int length(const struct node *n) {
  int count = 0;
  while (n) {
    ++count;
    n = n->next;
  }
  return count;
}

struct node *last(struct node *n) {
  while (n->next)
    n = n->next;
  return n;
}

struct node *find_atomic(struct node *n, int key) {
  while (n && n->key != key)
    n = atomic_load_explicit(&n->anext, memory_order_acquire);
  return n;
}

struct node *find_volatile(struct node *n, int key) {
  while (n && *(volatile int *)&n->key != key)
    n = *(struct node *volatile *)&n->next;
  return n;
}

// The end of a string is where it is.
size_t string_length(const char *s) {
  const char *end = s;
  while (*end)
    ++end;
  return end - s;
}

size_t volatile_string_length(const volatile char *s) {
  size_t n = 0;
  while (s[n])
    ++n;
  return n;
}

// A search whose bounds may be changed by others is still a search.
int search(const int *a, volatile int *n, int what) {
  int i = 0;
  while (i < *n && a[i] != what)
    ++i;
  return i;
}

// Probing a table goes on to the next slot.
_Atomic uint64_t table[64];
int probe(uint64_t key) {
  unsigned i = key % 64;
  while (atomic_load_explicit(&table[i], memory_order_relaxed) != key)
    i = (i + 1) % 64;
  return i;
}

int claim(uint64_t key) {
  for (unsigned i = key % 64;; i = (i + 1) % 64) {
    uint64_t empty = 0;
    if (atomic_compare_exchange_strong(&table[i], &empty, key))
      return i;
  }
}

// Work stealing: iterations do what they find.
atomic_int stop;
int take(int queue);
int steal(int n) {
  int done = 0;
  while (!atomic_load(&stop))
    done += take(done % n);
  return done;
}

// A pipe-like buffer is copied out while there is something in it.
atomic_uint head;
void drain(const int *ring, int *out) {
  unsigned tail = 0;
  while (tail != atomic_load(&head)) {
    *out++ = ring[tail % 64];
    ++tail;
  }
}

// A delay counts a volatile of its own.
void delay(void) {
  for (volatile int i = 0; i < 10000; ++i) {}
}

void delay_down(unsigned n) {
  volatile unsigned left = n;
  while (left--) {}
}

// Memory that is the thread's own.
static _Thread_local volatile int mine;
void thread_local_word(void) {
  while (!mine) {}
}

int local(void) {
  volatile int word = 3;
  int rounds = 0;
  while (word && rounds < 3)
    ++rounds;
  return rounds;
}

// Memory that nobody may write.
static const volatile int fixed = 1;
void constant(void) {
  while (!fixed) {}
}

// Nothing but the loop's own arithmetic.
unsigned collatz(unsigned n) {
  unsigned steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

// A lock's release either frees it, if nobody queues, or takes the first one
// out of the queue: every iteration tries what it has just seen.
enum { NOBODY = -1 };
atomic_int queued;
extern const int following[];
void release(void) {
  // expected-remark@+3 1+ {{(lock-free retry) on atomic 'queued'}}
  // llvm19-remark@+1 {{(lock-free retry) on atomic 'queued'}}
  while (1) {
    int first = atomic_load(&queued);
    if (first == NOBODY) {
      int nobody = NOBODY;
      if (atomic_compare_exchange_strong(&queued, &nobody, 0))
        return;
    } else if (atomic_compare_exchange_strong(&queued, &first, following[first & 7])) {
      return;
    }
  }
}

// A limit that is read again: if it has grown, another thread has made progress.
atomic_ulong wakers, sleepers;
void wake_one(void) {
  unsigned long limit = atomic_load(&sleepers), woken = atomic_load(&wakers);
  for (;;) {
    if (woken >= limit) {
      // expected-remark@+1 {{(lock-free retry) on atomic 'wakers'}}
      unsigned long fresh = atomic_load(&sleepers);
      if (fresh <= limit)
        return;
      limit = fresh;
      continue;
    }
    if (atomic_compare_exchange_weak(&wakers, &woken, woken + 1))
      return;
  }
}

// The exchange expects what the same iteration has stored: it fails only if another thread has come in between.
enum { RUNNING = 1 };
atomic_ulong waiters;
void run_waiters(void) {
  // expected-remark@+2 {{(lock-free retry) on atomic 'waiters'}}
  while (1) {
    if (atomic_exchange(&waiters, RUNNING) & ~1ul)
      return;
    unsigned long running = RUNNING;
    if (atomic_compare_exchange_strong(&waiters, &running, 0))
      return;
  }
}

// A version number of two words, read twice: if one has changed, another thread has made progress.
struct element;
struct two_words {
  _Atomic(struct element *) first;
  atomic_ulong tag;
};
struct element {
  struct two_words next;
};
struct element *pop_two_words(struct two_words *at) {
  for (;;) {
    // expected-remark@+1 {{(lock-free retry)}}
    struct element *first = atomic_load(&at->first);
    unsigned long tag = atomic_load(&at->tag);
    struct element *next = atomic_load(&first->next.first);
    struct element *first_again = atomic_load(&at->first);
    unsigned long tag_again = atomic_load(&at->tag);
    if (first != first_again || tag != tag_again)
      continue;
    if (atomic_compare_exchange_strong(&at->tag, &tag, tag + 1))
      return next;
  }
}

// Nobody ever writes it: nobody can end this.
static int done;
void forever(void) {
  while (!done)
    sched_yield();
}

// A mark in a link's lowest bit, as in a list without locks. Who finds another's
// mark leaves: nobody waits until it is cleared.
struct cell {
  struct cell *_Atomic link;
};
void found(struct cell *c);
int mark(struct cell *c) {
  uintptr_t seen = (uintptr_t)atomic_load(&c->link);
  struct cell *next = (struct cell *)(seen & ~(uintptr_t)1);
  // llvm19-remark@+1 {{(lock-free retry) on atomic memory}}
  for (;;) {
    struct cell *marked = (struct cell *)((uintptr_t)next | 1);
    // llvm22-remark@+1 {{(lock-free retry) on atomic memory}}
    int won = atomic_compare_exchange_strong(&c->link, &next, marked);
    seen = (uintptr_t)atomic_load(&c->link);
    next = (struct cell *)(seen & ~(uintptr_t)1);
    if (won) {
      found(c);
      return 1;
    } else if (seen & 1)
      return 0;
  }
}

// Ends by itself in the second iteration at the latest: {fmt}'s parse_align tests the character after the fill and then, once
// more, the first.
char aligned(const char *begin, long fill) {
  const char *p = begin + fill;
  for (;;) {
    if (*p == '<' || *p == '>' || *p == '^')
      return *p;
    if (p == begin)
      return 0;
    p = begin;
  }
}

#ifdef __x86_64__
// Pop by two words at once, in assembly. That the list is empty leads through
// the same end of a block as a failed try, to another place.
struct tagged {
  struct node *top;
  unsigned long tag;
};
static inline int cas_tagged(struct tagged *t, struct tagged from, struct tagged to) {
  union { struct tagged t; unsigned __int128 v; } a = {from}, b = {to};
  uint64_t high = a.v >> 64, low = (uint64_t)a.v;
  char done;
  __asm__ volatile("lock cmpxchg16b %1\n\tsetz %0"
                   : "=q"(done), "+m"(*(unsigned __int128 *)t), "+d"(high), "+a"(low)
                   : "c"((uint64_t)(b.v >> 64)), "b"((uint64_t)b.v) : "memory", "cc");
  return done;
}
static inline void load_tagged(const struct tagged *t, struct node **p, unsigned long *tag) {
  *p = __atomic_load_n(&t->top, __ATOMIC_ACQUIRE);
  *tag = __atomic_load_n(&t->tag, __ATOMIC_ACQUIRE);
}
struct node *pop_tagged(struct tagged *t) {
  // llvm19-remark@+1 {{(lock-free retry)}}
  for (;;) {
    struct node *p;
    unsigned long tag;
    load_tagged(t, &p, &tag); // expected-remark 1+ {{(lock-free retry)}}
    if (!p)
      return NULL;
    struct node *next = p->next;
    if (cas_tagged(t, (struct tagged){p, tag}, (struct tagged){next, tag + 1}))
      return p;
  }
}
#endif
