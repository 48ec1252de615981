/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Threads that use each primitive and the allocator, for constructors.c and its library. */

#ifndef VF_RIGS_ATTACK_THREADS_H
#define VF_RIGS_ATTACK_THREADS_H

#include "attack.h"
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static pthread_t threads[8];
static long turns, reads;
static int started, stop;

static void *use_all(void *block) {
  pthread_barrier_wait(&barrier);
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    block = realloc(malloc(100), 5000);
    memset(block, 1, 5000);
    free(block);
    pthread_mutex_lock(&mutex);
    ++turns;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    __atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
    pthread_rwlock_unlock(&rwlock);
    sem_post(&sem);
  }
  return NULL;
}

/* Returns after all of them have run. */
static inline void start(int number) {
  pthread_barrier_init(&barrier, NULL, number);
  sem_init(&sem, 0, 0);
  for (; started < number; ++started)
    pthread_create(&threads[started], NULL, use_all, NULL);
  pthread_mutex_lock(&mutex);
  while (turns < 50)
    pthread_cond_wait(&turned, &mutex);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < 20; ++i)
    sem_wait(&sem);
}

static inline void end(void) {
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  while (started > 0)
    pthread_join(threads[--started], NULL);
}

#endif
