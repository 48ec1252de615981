// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Workers that try to steal from a queue chosen at random. The generator's state changes in each
// iteration, but decides only which queue is looked at.
//
// RUN: %verify_c %s -o /dev/null

#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

struct queue {
  atomic_uint head, tail;
};
struct worker {
  struct queue *queues;
  unsigned count, id;
  unsigned long random;
};
atomic_int done;

#define XORSHIFT(STATE) (STATE ^= STATE << 13, STATE ^= STATE >> 7, STATE ^= STATE << 17)

struct queue *find_victim(struct worker *w) {
  // expected-remark@+1 {{may do more than wait: it keeps a count in shared memory; it keeps all iterations, and now yields}}
  while (!atomic_load(&done)) {
    struct queue *q = &w->queues[XORSHIFT(w->random) % w->count];
    if (atomic_load(&q->head) != atomic_load(&q->tail))
      return q;
    _mm_pause();
  }
  return NULL;
}

// A linear congruential generator; another queue than the worker's own.
struct queue *find_other(struct worker *w) {
  // expected-remark@+2 {{left as it is: it keeps a count in shared memory}}
  for (;;) {
    w->random = w->random * 6364136223846793005ul + 1442695040888963407ul;
    unsigned victim = (w->random >> 33) % (w->count - 1);
    struct queue *q = &w->queues[victim + (victim >= w->id)];
    if (atomic_load(&q->head) != atomic_load(&q->tail))
      return q;
    if (atomic_load(&done))
      return NULL;
    sched_yield();
  }
}

// A hash of what is read is no random number: the next iteration depends on it.
unsigned long hash_until_done(struct worker *w) {
  while (!atomic_load(&done)) {
    w->random = (w->random ^ atomic_load(&w->queues[0].head)) * 1099511628211ul;
    _mm_pause();
  }
  return w->random;
}

// Without a hint, a loop that computes random numbers does work.
unsigned long compute_until_done(struct worker *w) {
  while (!atomic_load(&done))
    XORSHIFT(w->random);
  return w->random;
}
// expected-remark@* 0-1 {{link with libvfrt}}
