// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A failed try, such as a pop from an empty queue, is a poll if it has no
// effect, whatever the try does when it succeeds.
//
// RUN: %verify_c %s -o /dev/null
// RUN: %vf_clang -O2 -S -emit-llvm %s -o - | FileCheck %s

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct task { int id; };
struct ring {
  atomic_uint head, tail;
  struct task *slot[64];
  long empty;
  struct task *kept;
};
void run(struct task *);
void block(struct ring *);

void push(struct ring *r, struct task *t) {
  unsigned head = atomic_load(&r->head);
  r->slot[head % 64] = t;
  atomic_store(&r->head, head + 1);
}

static bool is_empty(struct ring *r, unsigned *tail) {
  *tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
  return *tail == atomic_load_explicit(&r->head, memory_order_acquire);
}
static struct task *pop(struct ring *r) {
  unsigned tail;
  if (is_empty(r, &tail))
    return NULL;
  struct task *t = r->slot[tail % 64];
  atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
  return t;
}
static bool try_pop(struct ring *r, struct task **out) {
  unsigned tail;
  if (is_empty(r, &tail)) {
    *out = NULL;
    return false;
  }
  *out = r->slot[tail % 64];
  atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
  return true;
}

// CHECK-LABEL: @popped(
// CHECK: call {{.*}}@vf_spin_wait_or_fallback
struct task *popped(struct ring *r) {
  struct task *t;
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!(t = pop(r)))
    __builtin_ia32_pause();
  return t;
}

// Without a hint, the atomic loads show what it is.
struct task *popped_unhinted(struct ring *r) {
  struct task *t;
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!try_pop(r, &t))
    ;
  return t;
}

// A task that is NULL was popped, too, and does not end the loop.
// CHECK-LABEL: @popped_bounded(
// CHECK: call {{.*}}@vf_spin_wait_bounded_or_fallback
// CHECK: store atomic
struct task *popped_bounded(struct ring *r) {
  struct task *t = NULL;
  // expected-remark@+1 {{failed polls now wait in the runtime, for at most as long as the loop would spin}}
  for (int i = 0; i < 1 << 20 && !t; i++) {
    t = pop(r);
    __builtin_ia32_pause();
  }
  return t;
}

struct task *popped_then_blocks(struct ring *r) {
  struct task *t;
  for (;;) {
    // expected-remark@+1 {{failed polls now wait in the runtime, for at most as long as the loop would spin}}
    for (int i = 0; i < 100000; i++) {
      if (try_pop(r, &t))
        return t;
      __builtin_ia32_pause();
    }
    block(r);
  }
}

// By two levels of calls.
static bool take(struct ring *r, struct task **out) {
  if (!try_pop(r, out))
    return false;
  (*out)->id++;
  return true;
}
struct task *taken(struct ring *r) {
  struct task *t;
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!take(r, &t))
    sched_yield();
  return t;
}

// Of several queues.
struct task *popped_of_two(struct ring *own, struct ring *shared) {
  struct task *t;
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!(t = pop(own)) && !(t = pop(shared)))
    sched_yield();
  return t;
}
static struct task *scan(struct ring *r, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    struct task *t = pop(&r[i]);
    if (t)
      return t;
  }
  return NULL;
}
struct task *scanned(struct ring *r, unsigned n) {
  struct task *t;
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!(t = scan(r, n)))
    __builtin_ia32_pause();
  return t;
}

// What it does with the task, it does in other iterations.
void worker(struct ring *r, atomic_bool *stop) {
  struct task *t;
  // expected-remark-re@+1 {{(flag poll){{.*}}now wait in the runtime [}}
  while (!atomic_load(stop)) {
    if (try_pop(r, &t))
      run(t);
    else
      __builtin_ia32_pause();
  }
}
void stop_worker(atomic_bool *stop) { atomic_store(stop, true); }

// A poll that records the event, as in ggml's thread pool.
struct pool { atomic_int generation; atomic_bool stop; atomic_int used; int polls; };
struct state { struct pool *p; int last; bool pending; int id; };
static bool ready(struct state *w) {
  if (w->pending || w->p->stop)
    return true;
  int now = atomic_load_explicit(&w->p->generation, memory_order_relaxed);
  if (now == w->last)
    return false;
  w->pending = true;
  w->last = now;
  return true;
}
// CHECK-LABEL: @poll_for_work(
// CHECK: call {{.*}}@vf_spin_wait_bounded_or_fallback
bool poll_for_work(struct state *w) {
  unsigned long n = 131072ul * w->p->polls;
  // expected-remark@+1 {{failed polls now wait in the runtime, for at most as long as the loop would spin}}
  for (unsigned long i = 0; !ready(w) && i < n; i++)
    __builtin_ia32_pause();
  return w->pending;
}
void kick(struct pool *p) { atomic_fetch_add(&p->generation, 1); }
// The same, if an event may not be for this thread: it is recorded, and the
// iterations between two events are the wait.
static bool ready_if_used(struct state *w) {
  if (w->pending || w->p->stop)
    return true;
  int now = atomic_load_explicit(&w->p->generation, memory_order_relaxed);
  if (now != w->last) {
    w->pending = w->id < atomic_load_explicit(&w->p->used, memory_order_relaxed);
    w->last = now;
  }
  return w->pending;
}
// CHECK-LABEL: @poll_for_own_work(
// CHECK: call {{.*}}@vf_spin_wait_bounded_or_fallback
bool poll_for_own_work(struct state *w) {
  unsigned long n = 131072ul * w->p->polls;
  // expected-remark@+1 {{failed polls now wait in the runtime, for at most as long as the loop would spin}}
  for (unsigned long i = 0; !ready_if_used(w) && i < n; i++)
    __builtin_ia32_pause();
  return w->pending;
}

// Why not: a failed try leaves a trace, too.
// CHECK-LABEL: @not_without_trace(
// CHECK-NOT: @vf_spin_wait
static struct task *pop_or_keep(struct ring *r, struct task *mine) {
  struct task *t = pop(r);
  if (!t)
    r->kept = mine;
  return t;
}
struct task *not_without_trace(struct ring *r, struct task *mine) {
  struct task *t;
  while (!(t = pop_or_keep(r, mine)))
    ;
  return t;
}

// Why not: it ends when a try fails.
// CHECK-LABEL: @not_draining(
// CHECK-NOT: @vf_spin_wait
void not_draining(struct ring *r) {
  struct task *t;
  while ((t = pop(r)))
    run(t);
}

// Why not: each call of it is a step, which the author wants to be one call. It yields after pauses.
// CHECK-LABEL: @not_inlined(
// CHECK-NOT: @vf_spin_wait_or_fallback
// CHECK: @vf_spin_wait_bounded_or_fallback(ptr null, i64 0, i64 %{{.*}}, i32 69632, i64 -1,
__attribute__((noinline)) static struct task *pop_apart(struct ring *r) {
  return pop(r);
}
struct task *not_inlined(struct ring *r) {
  struct task *t;
  // expected-remark@+1 {{it calls 'pop_apart', whose effects are unknown}}
  while (!(t = pop_apart(r)))
    __builtin_ia32_pause();
  return t;
}

// Why not: without a hint, an early return because of plain memory is not the
// poll of a wait.
// CHECK-LABEL: @not_plain(
// CHECK-NOT: @vf_spin_wait
struct list { int n; struct task *all[8]; };
static bool remove_last(struct list *l, struct task **out) {
  if (l->n == 0)
    return false;
  *out = l->all[--l->n];
  return true;
}
struct task *not_plain(struct list *l) {
  struct task *t;
  while (!remove_last(l, &t))
    ;
  return t;
}

// Said once a module.
// expected-remark@* 0-1 {{link with libvfrt}}
// CHECK-LABEL: define {{.*}}@vf_spin_wait_or_fallback(
