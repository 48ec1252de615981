/*===- flag-queue-bounded.h - A queue, TRIES polls, then a condition ------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The token travels through a queue for each thread. A consumer polls the two
 * ends TRIES times and then waits for the condition under the mutex, as Redis'
 * I/O threads do. The ring needs no payloads of its own: the workload has them.
 *===----------------------------------------------------------------------===*/

#include <pthread.h>
#include <stdatomic.h>

#define PAYLOAD

struct flag {
  atomic_uint head, tail;
  atomic_int sleeping;
  pthread_mutex_t mutex;
  pthread_cond_t filled;
  WAITER_COUNT
};

static inline void flag_init(struct flag *f) {
  atomic_init(&f->head, 0);
  atomic_init(&f->tail, 0);
  atomic_init(&f->sleeping, 0);
  pthread_mutex_init(&f->mutex, NULL);
  pthread_cond_init(&f->filled, NULL);
}

/* pre: one producer a queue. */
static inline void flag_raise(struct flag *f) {
  /* Sequentially consistent, as is the consumer's store to `sleeping`: one of
   * the two sees the other's. */
  atomic_fetch_add(&f->tail, 1);
  WAKE_ALL(f, tail);
  if (atomic_load(&f->sleeping)) {
    pthread_mutex_lock(&f->mutex);
    pthread_cond_signal(&f->filled);
    pthread_mutex_unlock(&f->mutex);
  }
}

static inline int queue_empty(struct flag *f) {
  return atomic_load_explicit(&f->head, memory_order_relaxed) ==
         atomic_load(&f->tail);
}

/* pre: one consumer a queue. */
static inline void flag_await_and_lower(struct flag *f) {
  for (int i = 0; i < TRIES; i++) {
    if (!queue_empty(f))
      break;
    RELAX(f, tail, (int)atomic_load_explicit(&f->head, memory_order_relaxed));
  }
  if (queue_empty(f)) {
    pthread_mutex_lock(&f->mutex);
    atomic_store(&f->sleeping, 1);
    while (queue_empty(f))
      pthread_cond_wait(&f->filled, &f->mutex);
    atomic_store(&f->sleeping, 0);
    pthread_mutex_unlock(&f->mutex);
  }
  atomic_fetch_add_explicit(&f->head, 1, memory_order_relaxed);
}
