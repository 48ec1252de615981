// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops that look at several places in turn, and begin again.
//
// RUN: %verify_c %s -o /dev/null

#include <sched.h>
#include <stdatomic.h>

volatile long queues[8][16], busy;
atomic_int slots[8], stop;
void push(int i) { queues[i][0] = 1, busy = 1; }
void end(void) { atomic_store(&stop, 1); }

// Others end it, as long as nothing is to be had anywhere.
int wait_for_any(long limit, int n) {
  int i = 0;
  // expected-remark-re@+1 {{(flag poll) on volatile 'busy' {{.*}}wait in the runtime [}}
  while (queues[i][0] >= limit && busy > 0)
    i = (i + 1) % n;
  return i;
}

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
