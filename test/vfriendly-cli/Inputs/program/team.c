// Part of the vfriendly project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that each call creates and joins: one function is called in a loop of loops.c, the other is not.
#include "store.h"

#include <pthread.h>

static void *square(void *v) {
  *(int *)v *= *(int *)v;
  return NULL;
}

void squares(int *v, int n) {
  pthread_t threads[64];
  for (int i = 0; i < n; i++)
    pthread_create(&threads[i], NULL, square, v + i); // want: thread-per-task
  for (int i = 0; i < n; i++)
    pthread_join(threads[i], NULL);
}

void squares_once(int *v, int n) {
  pthread_t threads[64];
  for (int i = 0; i < n; i++)
    pthread_create(&threads[i], NULL, square, v + i);
  for (int i = 0; i < n; i++)
    pthread_join(threads[i], NULL);
}
