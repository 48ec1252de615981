// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compare-and-swaps in C that are locks or retries: by what they expect, and by a wait
// before them. And loops that jump.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:

#include <stdatomic.h>

int lock, other;
_Atomic int alock;
void take_item(void);
static inline void cpu_relax(void) { __asm__ volatile("pause" ::: "memory"); }

// What is expected has the bits that only others can clear: it fails till then.
void masked(void) {
  int v;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a {{.*}}lock, compare-and-swap of atomic 'other'
  do {
    v = __atomic_load_n(&other, __ATOMIC_RELAXED);
  } while (!__sync_bool_compare_and_swap(&other, v & ~1, v | 1));
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a {{.*}}lock, compare-and-swap of atomic 'alock'
  for (;;) {
    int want = atomic_load(&alock) & ~1;
    if (atomic_compare_exchange_strong(&alock, &want, want | 1))
      break;
  }
}

// As read, or with a mask that is no constant: it can succeed at once.
void not_masked(int mask) {
  int v;
  do {
    v = __atomic_load_n(&other, __ATOMIC_RELAXED);
  } while (!__sync_bool_compare_and_swap(&other, v, v | 1));
  do {
    v = __atomic_load_n(&other, __ATOMIC_RELAXED);
  } while (!__sync_bool_compare_and_swap(&other, v & mask, v | 1));
}

// A retry that waits each time before it tries takes a lock.
void after_wait(void) {
  int v;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a test-and-test-and-set lock, compare-and-swap of atomic 'other'
  do {
    // CHECK: :[[@LINE+1]]:5: warning: loop spins {{.*}}atomic 'other'
    while ((v = __atomic_load_n(&other, __ATOMIC_RELAXED)) & 1)
      cpu_relax();
  } while (!__sync_bool_compare_and_swap(&other, v, v | 1));
}

// One that waits sometimes, or whose inner loop only counts, is a retry.
void not_after_wait(void) {
  int v;
  do {
    v = __atomic_load_n(&other, __ATOMIC_RELAXED);
    if (v > 5)
      // CHECK: :[[@LINE+1]]:7: warning: loop spins
      while (__atomic_load_n(&lock, __ATOMIC_RELAXED))
        cpu_relax();
  } while (!__sync_bool_compare_and_swap(&other, v, v | 1));
  do {
    for (int i = 0; i < 5; i++)
      cpu_relax();
    v = __atomic_load_n(&other, __ATOMIC_RELAXED);
  } while (!__sync_bool_compare_and_swap(&other, v, v | 1));
}

// An optimistic reader: only the loop inside waits. The pass had taken the outer
// one for a wait, as it compares with what either of two reads saw.
int validates(_Atomic unsigned long *bucket, const int *slots) {
  for (;;) {
    unsigned long seen = atomic_load(bucket);
    // CHECK: :[[@LINE+1]]:5: warning: loop spins {{.*}}atomic '*bucket'
    while (seen & 1)
      seen = atomic_load(bucket);
    int found = slots[seen >> 1];
    if (atomic_load(bucket) == seen)
      return found;
  }
}

// A seqlock's reader that jumps forward, to its pause, instead of continuing.
struct pair { int x, y; };
struct pair jumps(_Atomic unsigned *version, const struct pair *p) {
  struct pair copy;
  // CHECK: :[[@LINE+1]]:3: warning: loop spins on a seqlock's version, atomic '*version'
  while (1) {
    unsigned v = atomic_load(version);
    if (v & 1)
      goto again;
    copy = *p;
    if (v == atomic_load(version))
      break;
  again:
    __builtin_ia32_pause();
  }
  return copy;
}
// Jumps to work.
void jumps_to_work(void) {
  while (1) {
    if (atomic_load(&alock))
      goto again;
    break;
  again:
    take_item();
  }
}
// Jumps out.
void jumps_out(void) {
  while (1) {
    if (atomic_load(&alock))
      goto out;
    take_item();
  }
out:
  other++;
}

// A mutex as in Drepper's "Futexes Are Tricky": an iteration that does not
// block has found the lock free, and then not.
int block(_Atomic int *, int);
static inline int exchanged(_Atomic int *at, int from, int to) {
  atomic_compare_exchange_weak(at, &from, to);
  return from;
}
void take_or_block(_Atomic int *at) {
  int found = exchanged(at, 0, 1);
  if (found != 0)
    do {
      if (found == 2 || exchanged(at, 1, 2) != 0)
        block(at, 2);
    } while ((found = exchanged(at, 0, 2)) != 0);
}

// One that does not block has found it taken, once.
void take_or_sleep(_Atomic int *at) {
  int found = exchanged(at, 0, 1);
  if (found != 0)
    // CHECK: :[[@LINE+1]]:5: warning: loop spins on a try-lock
    do {
      if (found == 2)
        block(at, 2);
    } while ((found = exchanged(at, 0, 2)) != 0);
}
