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

atomic_uint flag, stage;
unsigned last;
// Another value in each iteration.
void keep_last(void) {
  while (!atomic_load(&flag))
    last = atomic_load(&stage);
}

// The loop goes on with any value but one.
void until_equal(struct ring *r, unsigned next) {
  do
    r->seen = atomic_load(&r->head);
  while (next != r->seen);
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

// Another address in each iteration.
void fill(unsigned *at) {
  for (; !atomic_load(&flag); ++at)
    *at = 1;
}
// expected-remark@* 0-1 {{link with libvfrt}}
