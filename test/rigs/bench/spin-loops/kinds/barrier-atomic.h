/*===- barrier-atomic.h - Sense-reversing barrier, C11 atomics -----------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * The last to arrive flips the sense the others poll.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

#define PAYLOAD

struct barrier {
  atomic_int missing, sense;
  int threads;
  WAITER_COUNT
};

static inline void barrier_init(struct barrier *b, int threads) {
  b->threads = threads;
  atomic_init(&b->missing, threads);
  atomic_init(&b->sense, 0);
}

static inline void barrier_wait(struct barrier *b, int *sense) {
  int mine = *sense = !*sense;
  if (atomic_fetch_sub_explicit(&b->missing, 1, memory_order_acq_rel) == 1) {
    atomic_store_explicit(&b->missing, b->threads, memory_order_relaxed);
    atomic_store_explicit(&b->sense, mine, memory_order_release);
    WAKE_ALL(b, sense);
    return;
  }
  while (atomic_load_explicit(&b->sense, memory_order_acquire) != mine)
    RELAX(b, sense, !mine);
}
