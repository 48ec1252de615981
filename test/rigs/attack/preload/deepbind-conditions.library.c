// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of deepbind-conditions.c.

#include <pthread.h>
void sig(pthread_mutex_t *m, pthread_cond_t *c, int *r) {
  pthread_mutex_lock(m);
  *r = 1;
  pthread_cond_signal(c);
  pthread_mutex_unlock(m);
}
