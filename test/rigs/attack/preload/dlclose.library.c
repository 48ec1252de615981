// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library of dlclose.c.

#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int n, r;
static __thread char big[3000];
static void *w(void *x) {
  (void)x;
  big[5] = 1;
  pthread_mutex_lock(&m);
  r++;
  pthread_cond_signal(&c);
  pthread_mutex_unlock(&m);
  free(malloc(100000));
  return 0;
}
int go(void) {
  pthread_t t[3];
  for (int i = 0; i < 3; i++)
    pthread_create(t + i, 0, w, 0);
  pthread_mutex_lock(&m);
  while (r < 3)
    pthread_cond_wait(&c, &m);
  pthread_mutex_unlock(&m);
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], 0);
  r = 0;
  return ++n;
}
