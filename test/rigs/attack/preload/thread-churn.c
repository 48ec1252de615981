// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many threads in turn and 300 at once, with destructors that allocate, lock and end the thread.

#include "attack.h"
static pthread_key_t k;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long d;
static void ds(void *p) {
  pthread_mutex_lock(&m);
  d++;
  pthread_mutex_unlock(&m);
  free(p);
  void *q = malloc(5000);
  free(q);
  if (d % 7 == 0)
    pthread_exit(0);
}
static void *w(void *x) {
  pthread_setspecific(k, malloc(100 + (long)x % 2000));
  return 0;
}
int main(void) {
  pthread_key_create(&k, ds);
  pthread_t t[300];
  for (long i = 0; i < 20000; i++) {
    if (pthread_create(t, 0, w, (void *)i)) {
      puts("create");
      return 1;
    }
    pthread_join(t[0], 0);
  }
  for (long i = 0; i < 300; i++)
    pthread_create(t + i, 0, w, (void *)i);
  for (int i = 0; i < 300; i++)
    pthread_join(t[i], 0);
  printf("%ld\n", d);
}
