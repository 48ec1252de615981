// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Deadlines on both clocks, cancelled waiters, conditions destroyed after a broadcast, kinds of mutexes.

#include "attack.h"
static long cancelled, woken;
struct q {
  pthread_mutex_t m;
  pthread_cond_t c;
  int go;
};
static void ul(void *x) { pthread_mutex_unlock(x); }
static void *w(void *x) {
  struct q *q = x;
  pthread_mutex_lock(&q->m);
  pthread_cleanup_push(ul, &q->m);
  while (!q->go)
    pthread_cond_wait(&q->c, &q->m);
  pthread_cleanup_pop(1);
  __atomic_fetch_add(&woken, 1, 5);
  return 0;
}
int main(void) {
  for (int r = 0; r < 300; r++) {
    struct q *q = malloc(sizeof *q);
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, r % 3 == 0   ? PTHREAD_MUTEX_RECURSIVE
                                  : r % 3 == 1 ? PTHREAD_MUTEX_ERRORCHECK
                                               : PTHREAD_MUTEX_NORMAL);
    pthread_mutex_init(&q->m, &a);
    pthread_condattr_t ca;
    pthread_condattr_init(&ca);
    if (r & 1)
      pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
    pthread_cond_init(&q->c, &ca);
    q->go = 0;
    pthread_t t[6];
    for (int i = 0; i < 6; i++)
      pthread_create(t + i, 0, w, q);
    if (r & 2)
      usleep(300);
    for (int i = 0; i < 3; i++)
      pthread_cancel(t[i]);
    if (r & 4)
      usleep(100);
    pthread_mutex_lock(&q->m);
    struct timespec ts;
    clock_gettime(r & 1 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &ts);
    ts.tv_nsec += 200000;
    if (ts.tv_nsec > 999999999) {
      ts.tv_nsec -= 1000000000;
      ts.tv_sec++;
    }
    int e = pthread_cond_timedwait(&q->c, &q->m, &ts);
    if (e != ETIMEDOUT && e)
      printf("e%d\n", e);
    q->go = 1;
    if (r % 5 == 0)
      for (int i = 0; i < 6; i++)
        pthread_cond_signal(&q->c);
    else
      pthread_cond_broadcast(&q->c);
    pthread_mutex_unlock(&q->m);
    for (int i = 0; i < 6; i++) {
      void *v;
      pthread_join(t[i], &v);
      if (v == PTHREAD_CANCELED)
        cancelled++;
    }
    if (pthread_cond_destroy(&q->c) || pthread_mutex_destroy(&q->m))
      puts("busy");
    free(q);
  }
  printf("%ld\n", cancelled + woken);
}
