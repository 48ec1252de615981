// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Robust, priority-inheriting and process-shared locks; an owner dies.

#include "attack.h"
#include <semaphore.h>
struct sh {
  pthread_mutex_t rb, pi, sm;
  pthread_cond_t c;
  pthread_barrier_t b;
  sem_t s;
  pthread_rwlock_t rw;
  int v;
};
int main(void) {
  struct sh *s = mmap(0, 1 << 16, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_setpshared(&a, 1);
  pthread_mutex_init(&s->sm, &a);
  pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&s->rb, &a);
  pthread_mutexattr_t p;
  pthread_mutexattr_init(&p);
  pthread_mutexattr_setprotocol(&p, PTHREAD_PRIO_INHERIT);
  pthread_mutexattr_setpshared(&p, 1);
  printf("pi %d\n", pthread_mutex_init(&s->pi, &p));
  pthread_condattr_t ca;
  pthread_condattr_init(&ca);
  pthread_condattr_setpshared(&ca, 1);
  pthread_cond_init(&s->c, &ca);
  pthread_barrierattr_t ba;
  pthread_barrierattr_init(&ba);
  pthread_barrierattr_setpshared(&ba, 1);
  pthread_barrier_init(&s->b, &ba, 2);
  sem_init(&s->s, 1, 0);
  pthread_rwlockattr_t ra;
  pthread_rwlockattr_init(&ra);
  pthread_rwlockattr_setpshared(&ra, 1);
  pthread_rwlock_init(&s->rw, &ra);
  pid_t c = fork();
  if (!c) {
    pthread_mutex_lock(&s->rb);
    _exit(0);
  }
  waitpid(c, 0, 0);
  int e = pthread_mutex_lock(&s->rb);
  printf("rb %d %d\n", e, pthread_mutex_consistent(&s->rb));
  pthread_mutex_unlock(&s->rb);
  c = fork();
  if (!c) {
    for (int i = 0; i < 2000; i++) {
      pthread_mutex_lock(&s->pi);
      s->v++;
      pthread_mutex_unlock(&s->pi);
      pthread_rwlock_wrlock(&s->rw);
      s->v++;
      pthread_rwlock_unlock(&s->rw);
      pthread_barrier_wait(&s->b);
    }
    pthread_mutex_lock(&s->sm);
    s->v = -s->v;
    pthread_cond_signal(&s->c);
    pthread_mutex_unlock(&s->sm);
    sem_post(&s->s);
    _exit(0);
  }
  for (int i = 0; i < 2000; i++) {
    pthread_barrier_wait(&s->b);
    pthread_rwlock_rdlock(&s->rw);
    pthread_rwlock_unlock(&s->rw);
    pthread_mutex_lock(&s->pi);
    pthread_mutex_unlock(&s->pi);
  }
  pthread_mutex_lock(&s->sm);
  while (s->v >= 0)
    pthread_cond_wait(&s->c, &s->sm);
  pthread_mutex_unlock(&s->sm);
  sem_wait(&s->s);
  waitpid(c, 0, 0);
  printf("%d\n", s->v);
}
