// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recursive read locks while a writer waits, attempts, and deadlines that have passed.

#include "attack.h"
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static void *wr(void *x) {
  (void)x;
  for (int i = 0; i < 50; i++) {
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    usleep(100);
  }
  return 0;
}
static void *rd(void *x) {
  (void)x;
  for (int i = 0; i < 2000; i++) {
    pthread_rwlock_rdlock(&l);
    if (i % 10 == 0)
      usleep(10);
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l);
    pthread_rwlock_unlock(&l);
  }
  return 0;
}
int main(void) {
  pthread_t t[5];
  for (int i = 0; i < 5; i++)
    pthread_create(t + i, 0, i < 2 ? wr : rd, 0);
  for (int i = 0; i < 5; i++)
    pthread_join(t[i], 0);
  pthread_rwlock_rdlock(&l);
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  printf("%d %d %d\n", pthread_rwlock_trywrlock(&l),
         pthread_rwlock_timedwrlock(&l, &ts), pthread_rwlock_tryrdlock(&l));
}
