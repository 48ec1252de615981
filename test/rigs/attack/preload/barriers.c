// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers that the last thread destroys at once, spin locks, attempts, pthread_once, and C11.

#include "attack.h"
#include <threads.h>
static pthread_barrier_t *b;
static pthread_spinlock_t s;
static mtx_t mm;
static cnd_t cc;
static long n;
static int go;
static void *w(void *x) {
  (void)x;
  for (int i = 0; i < 300; i++) {
    int r = pthread_barrier_wait(b);
    pthread_spin_lock(&s);
    n++;
    pthread_spin_unlock(&s);
    while (pthread_spin_trylock(&s))
      sched_yield();
    n++;
    pthread_spin_unlock(&s);
    if (r == PTHREAD_BARRIER_SERIAL_THREAD)
      n += 100000;
  }
  mtx_lock(&mm);
  while (!go)
    cnd_wait(&cc, &mm);
  mtx_unlock(&mm);
  return 0;
}
int main(void) {
  for (int r = 0; r < 5; r++) {
    b = malloc(sizeof *b);
    pthread_barrier_init(b, 0, 5);
    pthread_spin_init(&s, 0);
    mtx_init(&mm, mtx_timed | mtx_recursive);
    cnd_init(&cc);
    go = 0;
    pthread_t t[5];
    for (int i = 0; i < 5; i++)
      pthread_create(t + i, 0, w, 0);
    usleep(1000);
    mtx_lock(&mm);
    go = 1;
    cnd_broadcast(&cc);
    mtx_unlock(&mm);
    for (int i = 0; i < 5; i++)
      pthread_join(t[i], 0);
    printf("%d ", pthread_barrier_destroy(b));
    free(b);
    pthread_spin_destroy(&s);
    mtx_destroy(&mm);
    cnd_destroy(&cc);
  }
  printf("%ld\n", n);
}
