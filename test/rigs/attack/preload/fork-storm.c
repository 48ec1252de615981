// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many forks beside threads that lock and allocate.

#include "attack.h"
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
// Of the children: glibc's condition does not survive a fork while threads wait for it.
static pthread_cond_t own = PTHREAD_COND_INITIALIZER;
static volatile int stop;
static long tok;
static void *w(void *x) {
  unsigned r = (unsigned)(long)x;
  while (!stop) {
    pthread_mutex_lock(&m);
    tok++;
    pthread_cond_signal(&c);
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 100000;
    if (t.tv_nsec > 999999999) {
      t.tv_sec++;
      t.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&c, &m, &t);
    pthread_mutex_unlock(&m);
    r = r * 1664525 + 1013904223;
    void *p = malloc((r >> 8) % 500000);
    free(p);
  }
  return 0;
}
static void *cw(void *x) {
  pthread_mutex_lock(&m);
  *(int *)x = 1;
  pthread_cond_broadcast(&own);
  pthread_mutex_unlock(&m);
  return 0;
}
int main(void) {
  pthread_t t[6];
  for (long i = 0; i < 6; i++)
    pthread_create(t + i, 0, w, (void *)(i + 1));
  int bad = 0;
  for (int i = 0; i < 50; i++) {
    pthread_mutex_lock(&m);
    pid_t p = fork();
    if (!p) {
      alarm(100);
      pthread_mutex_unlock(&m);
      void *b[50];
      for (int k = 0; k < 50; k++)
        b[k] = malloc(1000 * k + 1);
      for (int k = 0; k < 50; k++)
        free(b[k]);
      int go = 0;
      pthread_t u;
      if (pthread_create(&u, 0, cw, &go))
        _exit(3);
      pthread_mutex_lock(&m);
      while (!go)
        pthread_cond_wait(&own, &m);
      pthread_mutex_unlock(&m);
      pthread_join(u, 0);
      _exit(0);
    }
    pthread_mutex_unlock(&m);
    int s;
    waitpid(p, &s, 0);
    if (s) {
      bad++;
      fprintf(stderr, "child %x\n", s);
    }
  }
  stop = 1;
  for (int i = 0; i < 6; i++)
    pthread_join(t[i], 0);
  printf("%d\n", bad);
}
