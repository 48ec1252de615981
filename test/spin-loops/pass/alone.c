// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop that ends by itself while no other thread writes is no wait, whatever
// keeps it in the loop. Each stands before its twin, which may go on for ever.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -std=gnu11 -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// CHECK-LABEL: @first(
// CHECK-NOT: vf_spin_{{.*}}wait
// CHECK: ret i32
atomic_uint once;
int first(void) {
  unsigned seen = atomic_load(&once);
  // The exchange fails only if `once` is no longer what was read.
  // expected-remark@+1 {{(lock-free retry) on atomic 'once'}}
  while (seen == 0 && !atomic_compare_exchange_strong(&once, &(unsigned){0}, 1))
    seen = atomic_load(&once);
  return seen == 0;
}

// CHECK-LABEL: @first_or_done(
// CHECK: vf_spin_wait
// CHECK: ret i32
int first_or_done(void) {
  unsigned seen = atomic_load(&once);
  // expected-remark@+2 {{now wait in the runtime}}
  // expected-remark@+1 {{link with libvfrt}}
  while (seen != 2 && !atomic_compare_exchange_strong(&once, &(unsigned){0}, 1))
    seen = atomic_load(&once);
  return seen == 2;
}

// Two ways to exchange: one is atomic, one for a single thread.
// CHECK-LABEL: @set_flag(
// CHECK-NOT: vf_spin_{{.*}}wait
// CHECK: ret i1
bool use_threads = true;
struct peer {
  int name;
  volatile int flags;
};
static inline bool exchange(volatile int *at, int *old, int new) {
  if (use_threads) {
    int expected = *old, read = __sync_val_compare_and_swap(at, expected, new);
    *old = read;
    return read == expected;
  }
  if (*at == *old) {
    *at = new;
    return true;
  }
  *old = *at;
  return false;
}
bool set_flag(struct peer *p, int flag) {
  int flags = p->flags;
  do { // expected-remark {{(lock-free retry)}}
    if (flags & flag)
      return false;
  } while (!exchange(&p->flags, &flags, flags | flag));
  return true;
}

// CHECK-LABEL: @lock_flag(
// CHECK: vf_spin_wait
void lock_flag(atomic_int *flags, int flag) {
  int seen;
  do // expected-remark {{now wait in the runtime}}
    seen = atomic_load(flags) & ~1;
  while (!atomic_compare_exchange_strong(flags, &seen, seen | 1));
}

// A thief goes on if another one took the item, or if items have come.
// CHECK-LABEL: @steal(
// CHECK-NOT: vf_spin_{{.*}}wait
// CHECK: ret i64
struct deque {
  long size, top, bottom, *items;
};
static inline long steal_once(struct deque *q) {
  long top = __atomic_load_n(&q->top, __ATOMIC_ACQUIRE);
  long bottom = __atomic_load_n(&q->bottom, __ATOMIC_ACQUIRE);
  if (top >= bottom)
    return 0;
  long item = __atomic_load_n(&q->items[top % q->size], __ATOMIC_RELAXED);
  return __sync_bool_compare_and_swap(&q->top, top, top + 1) ? item : 0;
}
long steal(struct deque *q) {
  long item;
  do // expected-remark {{(lock-free retry)}}
    item = steal_once(q);
  while (item == 0 && __atomic_load_n(&q->bottom, __ATOMIC_RELAXED) -
                              __atomic_load_n(&q->top, __ATOMIC_RELAXED) > 0);
  return item;
}

// CHECK-LABEL: @steal_or_stop(
// CHECK: vf_spin_wait
// CHECK: ret i64
long steal_or_stop(struct deque *q, atomic_bool *stop) {
  long item;
  do // expected-remark {{now wait in the runtime}}
    item = steal_once(q);
  while (item == 0 && !atomic_load(stop));
  return item;
}

// Each iteration looks at other bits. Nothing is said.
// CHECK-LABEL: @claim_any(
// CHECK-NOT: vf_spin_{{.*}}wait
// CHECK-NOT: pause
// CHECK: ret i32
int claim_any(_Atomic(size_t) *field, size_t count) {
  size_t map = atomic_load(field), mask = ((size_t)1 << count) - 1, bit = 0;
  while (bit <= 64 - count) {
    size_t taken = map & mask;
    if (taken == 0) {
      if (!atomic_compare_exchange_strong(field, &map, map | mask))
        continue;
      return (int)bit;
    }
    size_t shift = count == 1 ? 1 : 64 - __builtin_clzl(taken) - bit;
    bit += shift;
    mask <<= shift;
  }
  return -1;
}

// The same bits each time.
// CHECK-LABEL: @claim_these(
// CHECK: vf_spin_{{.*}}
// CHECK: ret i32
int claim_these(_Atomic(size_t) *field, size_t mask) {
  for (int i = 0; i < 500; ++i) { // expected-remark {{for at most as long}}
    size_t map = atomic_load(field);
    if ((map & mask) == 0 &&
        atomic_compare_exchange_strong(field, &map, map | mask))
      return 1;
  }
  return 0;
}

// A shorter range each time: the loop inside is a retry.
// CHECK-LABEL: @claim_shorter(
// CHECK-NOT: vf_spin_{{.*}}wait
// CHECK-NOT: pause
// CHECK: ret i64
static inline bool try_claim(_Atomic(size_t) *field, size_t mask) {
  size_t seen = atomic_load(field);
  do { // expected-remark 1+ {{(lock-free retry)}}
    if (seen & mask)
      return false;
  } while (!atomic_compare_exchange_strong(field, &seen, seen | mask));
  return true;
}
size_t claim_shorter(_Atomic(size_t) *field, size_t bit, size_t count) {
  while (count > 0) {
    if (try_claim(field, (((size_t)1 << count) - 1) << bit))
      break;
    --count;
  }
  return count;
}
