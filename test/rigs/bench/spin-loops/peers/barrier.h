/*===- peers/barrier.h - The barrier of pthreads -------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What a user has without writing any wait.
 *===----------------------------------------------------------------------===*/

#include <pthread.h>

#define PAYLOAD

struct barrier {
  pthread_barrier_t meeting;
};

static inline void barrier_init(struct barrier *b, int threads) {
  pthread_barrier_init(&b->meeting, NULL, (unsigned)threads);
}

static inline void barrier_wait(struct barrier *b, int *sense) {
  (void)sense;
  pthread_barrier_wait(&b->meeting);
}
