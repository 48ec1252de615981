// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rewritten lock that is held during a call which may sleep: a remark names the call. None
// where the call is before the lock or after its release, or where no lock is taken.
//
// RUN: %vf_clang -O2 -S -emit-llvm %s -o /dev/null -Rpass-analysis=vf-spin-held 2>&1 | FileCheck %s
// RUN: %vf_clang -O2 -S -emit-llvm %s -o /dev/null -Rpass-analysis=vf-spin-held 2>&1 | grep -c remark: | grep -x 3

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct lock {
  atomic_int word;
  int count;
  void *last;
};

static void take(struct lock *l) {
  while (atomic_exchange_explicit(&l->word, 1, memory_order_acquire))
    ;
}

static void take_politely(struct lock *l) {
  do
    while (atomic_load_explicit(&l->word, memory_order_relaxed))
      ;
  while (atomic_exchange_explicit(&l->word, 1, memory_order_acquire));
}

static void release(struct lock *l) { atomic_store_explicit(&l->word, 0, memory_order_release); }

void allocates(struct lock *l) {
  take(l);
  // CHECK: held.c:[[#@LINE+1]]:13: remark: 'malloc' may sleep or enter the kernel while a lock is held that threads spin on
  l->last = malloc(64);
  release(l);
}

void writes_sometimes(struct lock *l, int often) {
  take_politely(l);
  if (++l->count == often)
    // CHECK: held.c:[[#@LINE+1]]:12: remark: 'write' may sleep
    (void)!write(2, "", 1);
  release(l);
}

void early(struct lock *l) {
  take(l);
  if (l->count == 3) {
    release(l);
    return;
  }
  // CHECK: held.c:[[#@LINE+1]]:3: remark: 'usleep' may sleep
  usleep(10);
  release(l);
}

// Twins.
void outside(struct lock *l) {
  void *p = malloc(64);
  take(l);
  l->last = p;
  ++l->count;
  release(l);
  usleep(10);
}

void no_lock(struct lock *l) {
  while (atomic_load_explicit(&l->word, memory_order_acquire))
    ;
  l->last = malloc(64);
  atomic_store_explicit(&l->word, 1, memory_order_release);
}

void released_elsewhere(struct lock *l) {
  take(l);
  l->last = malloc(64);
}

void another(struct lock *l) {
  take(l);
  ++l->count;
  release(l);
  if (l->count == 7)
    l->last = malloc(64);
}
