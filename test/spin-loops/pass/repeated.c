// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores that each failed iteration repeats leave memory as the first one did, so they do not make
// the loop work. Each negative says what another thread could see.
//
// RUN: %verify_c %s -o /dev/null

#include <stdatomic.h>

struct ring {
  atomic_uint head;
  unsigned seen;
};
// A producer keeps the consumer's position: the loop goes on only if that is `next`.
void wait_for_room(struct ring *r, unsigned next) {
  // expected-remark@+1 {{now wait in the runtime}}
  while (next == r->seen)
    r->seen = atomic_load_explicit(&r->head, memory_order_acquire);
}

struct span {
  _Atomic(void *) deferred;
  void *list;
};
#define BUSY ((void *)-1)
void *take_deferred(struct span *s) {
  // expected-remark@+1 {{now wait in the runtime}}
  do
    s->list = atomic_exchange(&s->deferred, BUSY);
  while (s->list == BUSY);
  return s->list;
}

// The loop goes on with any value but one, and keeps the last one for its caller. A wait that skips
// polls reads fewer values in between, as a slower one does.
void until_equal(struct ring *r, unsigned next) {
  // expected-remark@+1 {{now wait in the runtime}}
  do
    r->seen = atomic_load(&r->head);
  while (next != r->seen);
}
int wait_for_zero_bits(atomic_uint *word, unsigned *state, unsigned bits) {
  // expected-remark@+1 {{now wait in the runtime}}
  for (;;) {
    *state = atomic_load_explicit(word, memory_order_acquire);
    if ((*state & bits) == 0)
      return 1;
    __builtin_ia32_pause();
  }
}

// The result of a failed try, on each of two ways.
struct deque {
  atomic_int head, tail;
  void *slots[64];
};
void steal_from_either(struct deque *a, struct deque *b, void **task) {
  // expected-remark@+2 {{now wait in the runtime}}
  for (;;) {
    int at = atomic_load(&a->head);
    if (at < atomic_load(&a->tail)) {
      *task = atomic_compare_exchange_strong(&a->head, &at, at + 1) ? a->slots[at & 63] : 0;
      if (*task)
        return;
    } else {
      *task = 0;
    }
    if (atomic_load(&b->tail))
      return;
  }
}

atomic_uint flag, stage;
unsigned last;
// No exit tests the value: the loop copies it for others.
void keep_last(void) {
  while (!atomic_load(&flag))
    last = atomic_load(&stage);
}

// A sign of life.
void beat(void) {
  while (!atomic_load(&flag))
    last = 1;
}

// Another thread may wait for the store and undo it.
void ask(atomic_uint *request) {
  while (!atomic_load(&flag))
    atomic_store_explicit(request, 1, memory_order_relaxed);
}
void ask_volatile(volatile unsigned *request) {
  while (!atomic_load(&flag))
    *request = 1;
}

// The steps of a state machine.
void step(unsigned *state) {
  while (!atomic_load(&flag))
    if (*state == 1)
      *state = 2;
    else
      *state = 1;
}

// Another address in each iteration.
void fill(unsigned *at) {
  for (; !atomic_load(&flag); ++at)
    *at = 1;
}
// expected-remark@* 0-2 {{link with libvfrt}}
