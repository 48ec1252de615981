/*===- peers/lock.h - The mutex of pthreads ------------------------------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What a user has without writing any wait. The first thread that comes gets it, so it
 * is no substitute for a lock that promises an order.
 *===----------------------------------------------------------------------===*/

#include <pthread.h>

struct lock {
  pthread_mutex_t mutex;
};

static inline void lock_init(struct lock *l) {
  pthread_mutex_init(&l->mutex, NULL);
}

static inline void lock_acquire(struct lock *l, int self) {
  (void)self;
  pthread_mutex_lock(&l->mutex);
}

static inline void lock_release(struct lock *l, int self) {
  (void)self;
  pthread_mutex_unlock(&l->mutex);
}
