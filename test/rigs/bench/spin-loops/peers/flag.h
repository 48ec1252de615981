/*===- peers/flag.h - A flag with a mutex and a condition variable -------===*
 * Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *===----------------------------------------------------------------------===*
 *
 * What a user has without writing any wait.
 *===----------------------------------------------------------------------===*/

#include <pthread.h>

#define PAYLOAD

struct flag {
  pthread_mutex_t mutex;
  pthread_cond_t raised;
  int up;
};

static inline void flag_init(struct flag *f) {
  pthread_mutex_init(&f->mutex, NULL);
  pthread_cond_init(&f->raised, NULL);
  f->up = 0;
}

static inline void flag_raise(struct flag *f) {
  pthread_mutex_lock(&f->mutex);
  f->up = 1;
  pthread_mutex_unlock(&f->mutex);
  pthread_cond_signal(&f->raised);
}

static inline void flag_await_and_lower(struct flag *f) {
  pthread_mutex_lock(&f->mutex);
  while (!f->up)
    pthread_cond_wait(&f->raised, &f->mutex);
  f->up = 0;
  pthread_mutex_unlock(&f->mutex);
}
