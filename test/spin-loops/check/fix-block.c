// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fix spin-then-block in C, by the forms a loop is written in. The result
// compiles without a warning, and a second run has nothing left to fix.
// RUN: grep -v CHECK %s > %t.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.c -- -std=gnu11
// RUN: FileCheck %s --input-file=%t.c
// RUN: FileCheck %s --input-file=%t.c --check-prefix=CHECK-INDENT --strict-whitespace
// RUN: clang -std=gnu11 -fsyntax-only -Wall -Wextra -Werror -Wno-unused-function -I %vf_include %t.c
// The check is silent to what it has written.
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %t.c -- -std=gnu11 -I %vf_include 2>&1 | FileCheck %s --check-prefix=SILENT --allow-empty
// SILENT-NOT: vf_spin_
// RUN: cp %t.c %t.again.c
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' --fix %t.again.c -- -std=gnu11 -I %vf_include
// RUN: diff %t.c %t.again.c

#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
// CHECK: #include "vfriendly/spin_wait.h"

static _Atomic int ready;
static int payload;
volatile int flag;
int plain;
_Atomic int word;
struct shared {
  bool go;
  int *_Atomic pointer;
} *shared;
pthread_mutex_t mutex;
static inline void relax(void) { __asm__ volatile("pause"); }

// Every write is in this file, so each gets a notify and the wait says so.
// CHECK-LABEL: void publish(
// CHECK: atomic_store_explicit(&ready, 1, memory_order_release);
// CHECK-NEXT: vf_spin_notify_if_waiting(&ready);
void publish(int v) {
  payload = v;
  atomic_store_explicit(&ready, 1, memory_order_release);
}
// CHECK-LABEL: void unpublish(
// CHECK: { ready = 0; vf_spin_notify_if_waiting(&ready); }
void unpublish(int c) {
  if (c)
    ready = 0;
}
// CHECK-LABEL: int consume(
// CHECK-NEXT: uint64_t vf_state = 0;
// CHECK-NEXT: while (atomic_load_explicit(&ready, memory_order_acquire) == 0)
// CHECK-NEXT: vf_state = vf_spin_wait(&ready, 0, vf_state, sizeof(ready) | VF_SPIN_NOTIFIED);
int consume(void) {
  while (atomic_load_explicit(&ready, memory_order_acquire) == 0)
    ;
  return payload;
}

// A volatile is not for the runtime to read: no size, no observed value.
// CHECK-LABEL: void bodies(
void bodies(void) {
  // CHECK: uint64_t vf_state = 0;
  // CHECK-NEXT: while (flag)
  // CHECK-NEXT: {{^ +}}vf_state = vf_spin_wait(&flag, 0, vf_state, 0);
  while (flag);
  // CHECK: while (flag) {
  // CHECK-NEXT: vf_state2 = vf_spin_wait(&flag, 0, vf_state2, 0);
  // CHECK-NEXT: }
  while (flag) {}
  // CHECK: while (flag) {
  // CHECK-NEXT: vf_state3 = vf_spin_wait(&flag, 0, vf_state3, 0);
  // CHECK-NEXT: }
  while (flag) {
  }
  // The hint gives way to the wait, which pauses by itself.
  // CHECK: while (flag == 0) { vf_state4 = vf_spin_wait(&flag, 0, vf_state4, 0); }
  while (flag == 0) { _mm_pause(); }
  // CHECK: while (flag == 0)
  // CHECK-NEXT: {{^ +}}vf_state5 = vf_spin_wait(
  while (flag == 0)
    relax();
  // A do loop has not failed before its condition says so.
  // CHECK: } while ((!flag) && (vf_state6 = vf_spin_wait(&flag, 0, vf_state6, 0)) != 0);
  do {
  } while (!flag);
  // CHECK: for (;;) {
  // CHECK-NEXT: if (flag)
  // CHECK-NEXT: break;
  // CHECK-NEXT: vf_state7 = vf_spin_wait(
  // CHECK-NEXT: }
  for (;;) {
    if (flag)
      break;
  }
  // CHECK: for (;;) {
  // CHECK-NEXT: if (flag)
  // CHECK-NEXT: break;
  // CHECK-NEXT: vf_state8 = vf_spin_wait(
  // CHECK-NEXT: }
  for (;;)
    if (flag)
      break;
  // Only the hint is sure to be passed when there is a continue.
  // CHECK: continue;
  // CHECK-NEXT: vf_state9 = vf_spin_wait(&shared->pointer, 0, vf_state9, sizeof(shared->pointer));
  int n = 0;
  while (!shared->pointer) {
    if (n++ & 1)
      continue;
    _mm_pause();
  }
}

// A declaration needs a block of its own, and one that no jump goes past.
// CHECK-LABEL: void places(
void places(int c) {
  // CHECK: if (c)
  // CHECK-NEXT: { uint64_t vf_state = 0;
  // CHECK-NEXT: while (flag)
  // CHECK-NEXT: vf_state = vf_spin_wait(&flag, 0, vf_state, 0); }
  // CHECK-NEXT: else
  if (c)
    while (flag)
      ;
  else
    c = 2;
  // CHECK: case 1:
  // CHECK-NEXT: { uint64_t vf_state2 = 0;
  // CHECK: case 2:
  // CHECK: { uint64_t vf_state3 = 0;
  switch (c) {
  case 1:
    while (flag)
      ;
    break;
  case 2:
    c = 1;
    while (flag)
      ;
    break;
  }
}

// Ordinary memory is read atomically from here on.
// CHECK-LABEL: void ordinary(
void ordinary(void) {
  // CHECK: while (!__atomic_load_n(&plain, __ATOMIC_ACQUIRE))
  // CHECK-NEXT: vf_state = vf_spin_wait(&plain, 0, vf_state, sizeof(plain));
  while (!plain)
    ;
  // CHECK: while (!__atomic_load_n(&shared->go, __ATOMIC_ACQUIRE))
  // CHECK-NEXT: vf_state2 = vf_spin_wait(&shared->go, 0, vf_state2, sizeof(shared->go));
  while (!shared->go)
    ;
  // Two objects: none to block on.
  // CHECK: while (__atomic_load_n(&plain, __ATOMIC_ACQUIRE) != 3 && word)
  // CHECK-NEXT: vf_state3 = vf_spin_backoff(vf_state3, 0);
  while (plain != 3 && word)
    ;
  // A do loop whose condition begins, or begins and ends, with what is replaced.
  // CHECK: while ((__atomic_load_n(&plain, __ATOMIC_ACQUIRE) != 4) && (vf_state{{[0-9]*}} = vf_spin_wait(
  do {
  } while (plain != 4);
  // CHECK: while ((__atomic_load_n(&plain, __ATOMIC_ACQUIRE)) && (vf_state{{[0-9]*}} = vf_spin_wait(
  do {
  } while (plain);
}

int held;
// CHECK-LABEL: void locks(
void locks(void) {
  // The waiting is done by the reads between the tries.
  // CHECK: while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE))
  // CHECK-NEXT: { uint64_t vf_state = 0;
  // CHECK-NEXT: while (__atomic_load_n(&held, __ATOMIC_RELAXED))
  // CHECK-NEXT: vf_state = vf_spin_wait(&held, 0, vf_state, 0); }
  while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE))
    while (__atomic_load_n(&held, __ATOMIC_RELAXED))
      relax();
  // CHECK: while (pthread_mutex_trylock(&mutex))
  // CHECK-NEXT: vf_state2 = vf_spin_backoff(vf_state2, VF_SPIN_TRYLOCK);
  while (pthread_mutex_trylock(&mutex))
    ;
  // CHECK: } while ((!atomic_compare_exchange_weak(&word, &expected, 1)) && (vf_state3 = vf_spin_wait(&word, 0, vf_state3, 0)) != 0);
  int expected;
  do {
    expected = 0;
  } while (!atomic_compare_exchange_weak(&word, &expected, 1));
}

// CHECK-LABEL: void jump(
// CHECK-NEXT: uint64_t vf_state = 0;
// CHECK: again:
// CHECK-NEXT: if (!flag)
// CHECK-NEXT: { vf_state = vf_spin_wait(&flag, 0, vf_state, 0); goto again; }
void jump(void) {
again:
  if (!flag)
    goto again;
}

// Handed over in a fixed order: nobody in the queue may sleep, unless notified.
struct lock {
  _Atomic unsigned next, owner;
};
// CHECK-LABEL: void ticket(
// CHECK: vf_state = vf_spin_wait(&l->owner, 0, vf_state, VF_SPIN_NO_SLEEP | VF_SPIN_NOTIFIED);
void ticket(struct lock *l) {
  unsigned me = atomic_fetch_add(&l->next, 1);
  while (atomic_load(&l->owner) != me)
    ;
}
// CHECK: l->owner++; vf_spin_notify_if_waiting(&l->owner); }
void unlock(struct lock *l) { l->owner++; }

// A condition beside the wait stays as it is: it ends nothing by itself.
int cpus;
void beside(volatile unsigned long *lock, int spin) {
  for (;;) {
    if (*lock == 0 && __sync_bool_compare_and_swap(lock, 0, 1))
      return;
    // CHECK: {{^}}    if (cpus > 1)
    if (cpus > 1)
      for (int i = 0; i < spin; i++)
        if (*lock == 0 && __sync_bool_compare_and_swap(lock, 0, 1))
          return;
  }
}

// What is added is indented as the loop's statements are.
void fourBlanks(volatile unsigned long *lock) {
    for (;;) {
        if (*lock == 0 && __sync_bool_compare_and_swap(lock, 0, 1))
            return;
        // CHECK-INDENT: {{^ {8}vf_state = vf_spin_backoff}}
    }
}

// Also an iteration that a continue ends waits, but not the first attempt.
// CHECK-LABEL: void take_bit(
// CHECK: uint64_t vf_state = 0;
// CHECK-NEXT: for (; true; vf_state = vf_spin_wait(lock, 0, vf_state, 0)) {
// CHECK-NEXT: if (v & 1) {
void take_bit(_Atomic unsigned long *lock) {
  unsigned long v = atomic_load(lock);
  while (true) {
    if (v & 1) {
      v = atomic_load(lock);
      continue;
    }
    if (atomic_compare_exchange_weak(lock, &v, v | 1))
      break;
  }
}
// CHECK-LABEL: void continues(
// CHECK: for (;; vf_state = vf_spin_wait(&flag, 0, vf_state, 0)) {
void continues(int n) {
  for (;;) {
    if (flag)
      break;
    if (n++ & 1)
      continue;
    n = 7;
  }
}
// CHECK-LABEL: void increments(
// CHECK: for (; !flag; vf_state = vf_spin_wait(&flag, 0, vf_state, 0), n ^= 1) {
void increments(int n) {
  for (; !flag; n ^= 1) {
    if (n)
      continue;
    n = 2;
  }
}
