/*===- Inputs/barrier-open.h - A barrier that holds nobody ---------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * For the soak's test of itself: it polls a word that is never set.
 *===----------------------------------------------------------------------===*/

#include <stdatomic.h>

#define PAYLOAD

struct barrier {
  atomic_int never;
};

static inline void barrier_init(struct barrier *b, int threads) {
  (void)threads;
  atomic_init(&b->never, 0);
}

static inline void barrier_wait(struct barrier *b, int *sense) {
  (void)sense;
  while (atomic_load_explicit(&b->never, memory_order_acquire))
    ;
}
