// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that look at several places in turn, and begin again.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s --check-prefix=IR

#include <sched.h>
#include <stdatomic.h>
#ifdef __x86_64__
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() __asm__ volatile("yield")
#endif

volatile long queues[8][16], busy;
atomic_int slots[8], stop;
void push(int i) { queues[i][0] = 1, busy = 1; }
void end(void) { atomic_store(&stop, 1); }

// A sleep on `busy` would delay what is found in a queue without it, so it only yields.
// IR-LABEL: define {{.*}}@wait_for_any(
// IR: call {{.*}}@vf_spin_wait_or_fallback(ptr null, {{.*}}, i32 512)
int wait_for_any(long limit, int n) {
  int i = 0;
  // expected-remark-re@+1 {{on volatile 'busy' {{.*}}never sleep}}
  while (queues[i][0] >= limit && busy > 0)
    i = (i + 1) % n;
  return i;
}
int wait_for_slot(int n) {
  int i = 0;
  // expected-remark@+1 {{left as it is: it keeps a count}}
  while (!atomic_load(&stop)) {
    if (atomic_load(&slots[i]))
      return i;
    if (++i == n)
      i = 0;
  }
  return -1;
}

// Twin: one queue and the flag, which may sleep.
// IR-LABEL: define {{.*}}@wait_for_one(
// IR: call {{.*}}@vf_spin_wait_or_fallback(ptr nonnull {{.*}}, i32 10496)
void wait_for_one(long limit, int i) {
  // expected-remark@+1 {{wait in the runtime [}}
  while (queues[i][0] >= limit && busy > 0)
    ;
}

// It takes from each of several queues in every iteration, until all is done: no wait, so no remark.
struct task { void (*run)(struct task *); };
_Atomic(struct task *) tops[8];
atomic_int left;
void add(int i, struct task *t) { atomic_fetch_add(&left, 1), atomic_store(&tops[i], t); }
static struct task *take_any(int n) {
  for (int i = 0; i < n; i++) {
    struct task *t = atomic_exchange(&tops[i], 0);
    if (t)
      return t;
  }
  return 0;
}
void help_until_done(int n) {
  while (atomic_load(&left) > 0) {
    struct task *t = take_any(n);
    if (t) {
      t->run(t);
      atomic_fetch_sub(&left, 1);
    } else {
      PAUSE();
    }
  }
}

// Twin: it waits until all have arrived.
void wait_for_all(int n) {
  int arrived;
  // expected-remark@+1 {{wait in the runtime [}}
  do {
    arrived = 1;
    for (int i = 0; i < n; i++)
      arrived &= atomic_load(&slots[i]);
    PAUSE();
  } while (!arrived);
}
void arrive(int i) { atomic_store(&slots[i], 1); }

// By its hint it waits, but no word is the one to wait for: reported, not rewritten.
int steal_from_any(int n) {
  int i = 0;
  // expected-remark@+1 {{left as it is: it polls several words in turn}}
  while (!atomic_load(&slots[i])) {
    i = (i + 1) % n;
    sched_yield();
  }
  return i;
}

// Why not: with a hint, but once around.
int not_once_paused(int n) {
  int i = 0;
  do {
    if (atomic_load(&slots[i]))
      return i;
    i = (i + 1) % n;
    sched_yield();
  } while (i != 0);
  return -1;
}

// Why not: a hash table is searched so.
int not_probing(int key, int n) {
  int i = key % n;
  while (atomic_load(&slots[i]) && atomic_load(&slots[i]) != key)
    i = (i + 1) % n;
  return i;
}

// Why not: once around, and it ends by itself.
int not_once_round(int key, int n) {
  int i = key % n, first = i;
  do {
    if (atomic_load(&slots[i]) == key)
      return i;
    i = (i + 1) % n;
  } while (i != first);
  return -1;
}

// Why not: it does not come back to where it was.
long not_scanning(const volatile long *p) {
  long i = 0;
  while (p[i] && !atomic_load(&stop))
    ++i;
  return i;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
