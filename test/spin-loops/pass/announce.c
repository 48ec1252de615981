// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Readers that say by a store that they are there, look for a writer, take that
// back and wait: reported as in doubt. Such a loop yields only at its pause, when
// it has taken that back; the wait inside one is one of its own.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s
// CHECK-LABEL: define {{.*}} @enter_pausing
// CHECK-NOT: @vf_spin_wait
// CHECK: store atomic i32 0, ptr @here
// CHECK-NEXT: call void @llvm.x86.sse2.pause
// CHECK: @vf_spin_wait_bounded_or_fallback(ptr null
// CHECK-LABEL: define

// REQUIRES: host-x86_64

#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>

atomic_int writer, here;
void write_lock(void) { atomic_store(&writer, 1); }

void enter_pausing(void) {
  // expected-remark@+1 {{may do more than wait: each iteration registers the thread and retracts that}}
  for (;;) {
    atomic_store(&here, 1);
    if (!atomic_load(&writer))
      return;
    atomic_store(&here, 0);
    _mm_pause();
  }
}

// The loop inside waits. This one goes on only if a writer has come meanwhile,
// and waits as a whole, as a lock does that is tried after it looked free.
void enter_waiting(void) {
  // expected-remark@+1 {{(flag poll) on atomic 'writer' left as it is: each iteration registers the thread and retracts that}}
  for (;;) {
    while (atomic_load(&writer)) // expected-remark {{wait in the runtime}}
      ;
    atomic_store(&here, 1);
    if (!atomic_load(&writer))
      return;
    atomic_store(&here, 0);
  }
}

// Exchanged in, stored out, a bounded number of times.
bool try_enter(int *place, int tries) {
  // expected-remark@+1 {{may do more than wait: each iteration registers the thread and retracts that}}
  for (int i = 0; i < tries; i++) {
    atomic_exchange(&here, 1);
    if (!atomic_load(&writer))
      return true;
    atomic_store(&here, 0);
    _mm_pause();
  }
  return false;
}

// By assembly, in functions that show what they write only once inlined.
struct reader { unsigned here; };
struct lock { volatile unsigned writer; };
void take(struct lock *l) { l->writer = 1; }
static inline void say(unsigned *p, unsigned v) {
  __asm__ volatile("movl %1, %0" : "=m"(*p) : "r"(v) : "memory");
}
void enter_by_assembly(struct lock *l, struct reader *r) {
  // expected-remark@+1 {{left as it is: each iteration registers the thread and retracts that}}
  for (;;) {
    while (l->writer) // expected-remark {{wait in the runtime}}
      _mm_pause();
    say(&r->here, 1);
    _mm_mfence();
    if (!l->writer)
      return;
    say(&r->here, 0);
  }
}

// Why not: what it says is not taken back.
void not_taken_back(void) {
  while (atomic_load(&writer)) {
    atomic_store(&here, 1);
    _mm_pause();
  }
}

// Why not: the same, by assembly, which is no look at memory either.
void not_taken_back_by_assembly(struct reader *r) {
  while (atomic_load(&writer)) {
    say(&r->here, 1);
    _mm_pause();
  }
}

// Why not: two places, each of which keeps what was said last.
atomic_int there;
void not_the_same(void) {
  while (atomic_load(&writer)) {
    atomic_store(&here, 1);
    atomic_store(&there, 0);
    _mm_pause();
  }
}

// Why not: something else each iteration.
void not_constant(void) {
  for (int i = 0; atomic_load(&writer); i++) {
    atomic_store(&here, i);
    atomic_store(&here, i + 1);
    _mm_pause();
  }
}

// Why not: no hint says that this waits.
void not_said(void) {
  for (;;) {
    atomic_store(&here, 1);
    if (!atomic_load(&writer))
      return;
    atomic_store(&here, 0);
  }
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}

// Inside a section of its own, which is left as it was before.
struct section { atomic_ulong in; };
extern atomic_ulong epoch;
void take_in_section(struct section *mine, atomic_int *bucket) {
  // expected-remark@+2 {{may do more than wait: each iteration registers the thread and retracts that}}
  for (;;) {
    unsigned long before = atomic_load_explicit(&mine->in, memory_order_relaxed);
    atomic_store(&mine->in, before & 1 ? before : atomic_load(&epoch) | 1);
    bool taken = atomic_exchange(bucket, 1) == 0;
    atomic_store_explicit(&mine->in, before, memory_order_release);
    if (taken)
      return;
    _mm_pause();
  }
}
// What it leaves, others may wait for.
void take_and_leave(struct section *mine, atomic_int *bucket) {
  for (;;) {
    unsigned long before = atomic_load_explicit(&mine->in, memory_order_relaxed);
    atomic_store(&mine->in, before & 1 ? before : atomic_load(&epoch) | 1);
    bool taken = atomic_exchange(bucket, 1) == 0;
    atomic_store_explicit(&mine->in, before + 2, memory_order_release);
    if (taken)
      return;
    _mm_pause();
  }
}
