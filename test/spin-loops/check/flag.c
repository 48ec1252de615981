// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Flag and counter polls in C, each beside what looks like one and is none.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=c11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <immintrin.h>

int work(void);
int plain_flag;
volatile int volatile_flag;
_Atomic int atomic_flag_;
static const int constant = 1;

struct global_memory { int counter; } *Global;

void plain(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'plain_flag': a data race; spin then block (guidelines/spin-loops.md) [vfriendly-spin-loops]
  while (plain_flag)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'Global->counter'
  while (Global->counter);
}

// What the message quotes may have a `%`.
void slots(atomic_int *grants, unsigned ticket) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'grants[ticket % 4]'
  while (atomic_load(&grants[ticket % 4]) != (int)ticket)
    ;
}

// A prefetch changes no memory; other assembly may.
void prefetches(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'
  while (!volatile_flag)
    __asm__ volatile("prefetchw %0" ::"m"(volatile_flag));
  while (!volatile_flag)
    __asm__ volatile("prefetchw %0; clzero" ::"m"(volatile_flag));
}

void volatile_poll(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag': the vCPU is wasted while the other thread is descheduled; spin then block (guidelines/spin-loops.md) [vfriendly-spin-loops]
  while (volatile_flag == 0) {
  }
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'
  do {
    _mm_pause();
  } while (volatile_flag < 3);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'
  for (;;)
    if (volatile_flag)
      break;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'plain_flag'
  while (*(volatile int *)&plain_flag == 0)
    ;
}

void atomic_poll(atomic_int *where) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'atomic_flag_'
  while (!atomic_flag_)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic '*where'
  while (atomic_load_explicit(where, memory_order_acquire) != 4)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'plain_flag'
  while (__atomic_load_n(&plain_flag, __ATOMIC_ACQUIRE) == 0)
    __builtin_ia32_pause();
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic 'plain_flag'
  while (__sync_fetch_and_add(&plain_flag, 0) == 0)
    __asm__ __volatile__("rep; nop" ::: "memory");
  int seen;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic '*where'
  while ((seen = atomic_load(where)) == 0)
    ;
}

// A wait may count how long it took; this one has no bound.
unsigned counting(void) {
  unsigned rounds = 0;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'
  while (!volatile_flag)
    rounds++;
  return rounds;
}

// The exit does something: after the wait, not during it.
int leaves_with_work(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'
  for (;;) {
    if (volatile_flag) {
      plain_flag = 1;
      return work();
    }
    _mm_pause();
  }
}

// The result of a poll in a local variable.
void through_a_local(void) {
  bool done = false;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'
  while (!done) {
    if (volatile_flag > 2)
      done = true;
    _mm_pause();
  }
}

void goto_loops(void) {
again:
  // CHECK: :[[@LINE+2]]:5: warning: loop spins on volatile 'volatile_flag'
  if (!volatile_flag)
    goto again;
spin:
  __builtin_ia32_pause();
  // CHECK: :[[@LINE+2]]:5: warning: loop spins on atomic 'atomic_flag_'
  if (atomic_load(&atomic_flag_) == 0) {
    goto spin;
  }
}

#define WAIT_FOR(x) while (!(x)) _mm_pause()
void in_own_macro(void) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'
  WAIT_FOR(volatile_flag);
}

void escaped_local(void (*start)(int *)) {
  int done = 0;
  start(&done);
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on plain 'done'
  while (!done)
    ;
}

//===--- Not waits --------------------------------------------------------===//

struct node { struct node *next; int key; };

// Walks over data: each iteration looks at another address.
struct node *last(struct node *p) {
  while (p->next)
    p = p->next;
  return p;
}
size_t length(const char *s) {
  size_t n = 0;
  while (*s) {
    s++;
    n++;
  }
  return n;
}
size_t length_by_index(const volatile char *s) {
  size_t n = 0;
  while (s[n])
    n++;
  return n;
}

// The loop makes progress by itself: the bound merely lives in shared memory.
volatile int bound;
int data[64];
int sum(void) {
  int s = 0;
  for (int i = 0; i < bound; i++)
    s += data[i];
  return s;
}
int sum_until_stopped(int n) {
  int s = 0;
  for (int i = 0; i < n && !volatile_flag; i++)
    s += data[i]; // Work: stopping it early is not what it waits for.
  return s;
}

// A search through ordinary data: bounded, without a hint.
int search(struct node *p, int n) {
  for (int i = 0; i < n; i++)
    if (p->key == 3)
      return i;
  return -1;
}

// Nobody else can change a local variable that does not escape.
void locals(int n) {
  int i = 0;
  while (i < n)
    i++;
  volatile int delay = 0;
  while (delay < 1000)
    delay++;
}

// A runtime keeps addresses as numbers: what is read there as an atomic object is
// memory. Registers are read as volatile ones, further down.
void in_a_heap(long value) {
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on atomic
  while (atomic_load((_Atomic unsigned long *)value - 1) != 0)
    ;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on
  while (atomic_exchange((_Atomic unsigned long *)value, 1) != 0)
    ;
  while (__atomic_load_n((volatile unsigned *)value, __ATOMIC_ACQUIRE) & 1)
    ;
}

// A device register: a constant address, or an untyped one made volatile. No
// thread will write it, so blocking would never end.
void device(char *base) {
  while ((*(volatile unsigned *)0xfee00300 & 0x1000) != 0)
    ;
  volatile unsigned *reg = (volatile unsigned *)0x40001000;
  while (!*reg)
    ;
  while (!(*(volatile unsigned *)(void *)(base + 4) & 1))
    ;
}

// A setting beside a counter is not polled.
int verbose;
int tries(int n) {
  int i = 0;
  while (i++ < n || verbose)
    ;
  return i;
}

// A register again, with a way out beside it: the device decides how long.
void device_until_stopped(void) {
  while (!volatile_flag && !(*(volatile unsigned *)0x40001000 & 1))
    ;
}

// Somebody may watch what the loop stores each iteration.
void heartbeat(void) {
  while (!volatile_flag)
    plain_flag = 1;
}

// Event loops: the body does work in each iteration.
void event_loop(void) {
  while (!volatile_flag)
    work();
  // The hint says that it waits, so the count is a doubt.
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on volatile 'volatile_flag'{{.*}}; it keeps a count in shared memory (
  while (!volatile_flag) {
    plain_flag++;
    _mm_pause();
  }
}

// A function whose body is not visible may do anything.
int opaque_poll(void);
void unseen(void) {
  while (!opaque_poll())
    ;
}

// Constant: nothing to wait for. Endless: no exit.
void no_exit(void) {
  for (;;)
    _mm_pause();
}
void once(void) {
  do {
    plain_flag = 0;
  } while (0);
}

// A parser that jumps between the cases of a switch, as in Masstree.
const char *number(const char *first, const char *last, int position) {
  switch (position) {
  case 3:
    if (first != last && *first++ == '.')
      goto decimal;
  exponent:
    break;
  decimal:
  case 5:
    while (first != last && *first >= '0')
      ++first;
    if (first != last && position == 5)
      goto exponent;
  }
  return first;
}

// The author said so.
__attribute__((annotate("vfriendly:keep"))) void kept(void) {
  while (!volatile_flag)
    ;
}
void silenced(void) {
  while (!volatile_flag) // NOLINT(vfriendly-spin-loops)
    ;
  // NOLINTNEXTLINE(vfriendly-spin-loops)
  while (!volatile_flag)
    ;
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
