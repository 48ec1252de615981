// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waits that pop by compare-and-swap: an index, a linked list, a deque. Check and pass agree on each loop.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang_tidy --checks='-*,vfriendly-spin-loops' %s -- -std=gnu11 2>&1 | grep '^/' | FileCheck %s --implicit-check-not=warning:
//
// REQUIRES: host-x86_64

#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

enum { Slots = 64 };
struct ring { _Atomic unsigned head, tail; void *slots[Slots]; _Atomic(void *) shared[Slots]; };
struct node { struct node *next; };
struct stack { _Atomic(struct node *) top; };

void push(struct ring *q, void *x) {
  unsigned t = atomic_load(&q->tail);
  q->slots[t % Slots] = x;
  q->shared[t % Slots] = x;
  atomic_store(&q->tail, t + 1);
}
void push_node(struct stack *s, struct node *n) {
  n->next = atomic_load(&s->top);
  while (!atomic_compare_exchange_weak(&s->top, &n->next, n)) {}
}

static void *pop(struct ring *q) {
  unsigned h = atomic_load(&q->head);
  if (h == atomic_load(&q->tail))
    return NULL;
  void *x = q->slots[h % Slots];
  return atomic_compare_exchange_strong(&q->head, &h, h + 1) ? x : NULL;
}
void *take(struct ring *q) {
  void *x;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on a test-and-test-and-set lock
  // expected-remark@+1 {{failed polls now wait in the runtime}}
  while (!(x = pop(q)))
    _mm_pause();
  return x;
}
// What was popped may be null, so an iteration may do more, and none may be skipped.
void *take_bounded(struct ring *q) {
  void *x = NULL;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on a test-and-test-and-set lock{{.*}} up to 1,048,576 times
  // expected-remark@+1 {{it now yields where threads share CPUs, and nothing else: it is bounded, and}}
  for (int i = 0; i < 1 << 20 && !x; i++) {
    x = pop(q);
    _mm_pause();
  }
  return x;
}

static struct node *pop_node(struct stack *s) {
  struct node *n = atomic_load(&s->top);
  return n && atomic_compare_exchange_strong(&s->top, &n, n->next) ? n : NULL;
}
struct node *take_node(struct stack *s) {
  struct node *n;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on a test-and-test-and-set lock
  // expected-remark@+1 {{failed polls now wait in the runtime}}
  while (!(n = pop_node(s)))
    sched_yield();
  return n;
}

// The inner loop tries again until it has a node or there is none: it waits for nobody.
static struct node *pop_node_surely(struct stack *s) {
  struct node *n = atomic_load(&s->top);
  // expected-remark@+1 1-2 {{a retry can succeed at once}}
  while (n && !atomic_compare_exchange_weak(&s->top, &n, n->next)) {}
  return n;
}
struct node *take_node_surely(struct stack *s) {
  struct node *n;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on a test-and-test-and-set lock
  // expected-remark@+1 {{failed polls now wait in the runtime}}
  while (!(n = pop_node_surely(s)))
    _mm_pause();
  return n;
}

static void *steal(struct ring *q) {
  unsigned t = atomic_load_explicit(&q->tail, memory_order_acquire);
  atomic_thread_fence(memory_order_seq_cst);
  unsigned h = atomic_load_explicit(&q->head, memory_order_acquire);
  if ((int)(h - t) <= 0)
    return NULL;
  void *x = atomic_load_explicit(&q->shared[t % Slots], memory_order_relaxed);
  return atomic_compare_exchange_strong(&q->tail, &t, t + 1) ? x : NULL;
}
void *take_stolen(struct ring *q) {
  void *x;
  // CHECK: :[[@LINE+2]]:3: warning: loop spins on a test-and-test-and-set lock
  // expected-remark@+1 {{failed polls now wait in the runtime}}
  while (!(x = steal(q)))
    _mm_pause();
  return x;
}

// Why not: it takes all that there are.
void run(void *);
void drain(struct ring *q) {
  void *x;
  while ((x = pop(q)))
    run(x);
}
void drain_nodes(struct stack *s) {
  for (struct node *n; (n = pop_node(s));)
    run(n);
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
