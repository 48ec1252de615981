// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libvfpthread locks before any constructor ran, its own among them: those of a library
// that is to be initialized first. And whatever symbol version a program was linked to,
// but for conditions: those of the old version are others, and stay libc's.
//
// REQUIRES: host-x86_64
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -shared -fPIC -DLIBRARY %s -o %t.so -Wl,-z,initfirst
// RUN: clang -std=gnu11 -O2 -Wall -Wextra %s -o %t %t.so -pthread
// RUN: %t
// RUN: env LD_DEBUG=bindings %vf_preload %t 2>&1 | FileCheck --check-prefix=OLD %s
// OLD: early.c.tmp [0] to {{.*}}/libc.so.6 [0]: normal symbol `pthread_cond_signal' [GLIBC_2.2.5]
// RUN: env VF_STATS=1 LD_DEBUG=files,bindings %vf_preload %t 2>&1 | FileCheck %s
//
// CHECK: calling init: {{.*}}early.c.tmp.so
// CHECK: early.c.tmp.so [0] to {{.*}}libvfpthread.so [0]: normal symbol `pthread_mutex_lock' [GLIBC_2.2.5]
// CHECK: early.c.tmp.so [0] to {{.*}}libvfpthread.so [0]: normal symbol `pthread_mutex_timedlock' [GLIBC_2.34]
// CHECK: calling init: {{.*}}libvfpthread.so
// CHECK: early.c.tmp [0] to {{.*}}libvfpthread.so [0]: normal symbol `pthread_mutex_trylock' [GLIBC_2.2.5]
// CHECK: early: as it should be
// CHECK: "vfpthread": {{.*}} "sleeps": {{[1-9]}}
//
// Turned off by a variable that could not be read that early:
// RUN: env VF_STATS=1 VF_PTHREAD=off %vf_preload %t 2>&1 | FileCheck --check-prefix=OFF %s
// OFF: early: as it should be
// OFF: "vfpthread": {"spins": 0, "spun": 0, "sleeps": 0, "wakes": 0

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern pthread_mutex_t held, inherited;
extern int was_initialized;

#ifdef LIBRARY
pthread_mutex_t held = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, inherited;
int was_initialized;

/* One of the kinds taken over stays locked, one of the others is locked with a
 * function that has to be looked up. */
__attribute__((constructor)) static void before_all(void) {
  pthread_mutexattr_t attr;
  struct timespec at = {1, 0};
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&inherited, &attr);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  pthread_barrier_t barrier;
  sem_t sem;
  pthread_barrier_init(&barrier, NULL, 1);
  sem_init(&sem, 0, 0);
  pthread_mutex_lock(&mutex);
  was_initialized =
      pthread_cond_timedwait(&cond, &mutex, &at) == ETIMEDOUT &&
      pthread_cond_signal(&cond) == 0 && pthread_cond_broadcast(&cond) == 0 &&
      pthread_rwlock_wrlock(&lock) == 0 &&
      pthread_rwlock_timedrdlock(&lock, &at) == EDEADLK &&
      sem_timedwait(&sem, &at) == -1 && errno == ETIMEDOUT &&
      pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  was_initialized &= pthread_mutex_lock(&held) == 0 &&
                    pthread_mutex_lock(&held) == 0 &&
                    pthread_mutex_timedlock(&inherited, &at) == 0 &&
                    pthread_mutex_unlock(&inherited) == 0;
}
#else
int old_trylock(pthread_mutex_t *mutex);
int old_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr);
int old_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int old_cond_signal(pthread_cond_t *cond);
__asm__(".symver old_trylock, pthread_mutex_trylock@GLIBC_2.2.5\n"
        ".symver old_cond_init, pthread_cond_init@GLIBC_2.2.5\n"
        ".symver old_cond_wait, pthread_cond_wait@GLIBC_2.2.5\n"
        ".symver old_cond_signal, pthread_cond_signal@GLIBC_2.2.5");

/* All but the first word is never set: a pointer, to what libc allocates. */
static union {
  pthread_cond_t object;
  unsigned char bytes[sizeof(pthread_cond_t)];
} old;
static int is_over;

static void *wait_old(void *arg) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  if (arg) {
    is_over = 1;
    old_cond_signal(&old.object);
  }
  while (!is_over)
    old_cond_wait(&old.object, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void use_old_conds(void) {
  pthread_t id;
  memset(old.bytes, 0xff, sizeof old.bytes);
  old_cond_init(&old.object, NULL);
  pthread_create(&id, NULL, wait_old, NULL);
  usleep(2000);
  wait_old(&id);
  pthread_join(id, NULL);
}

static void *try_old(void *arg) {
  struct timespec at = {1, 0};
  (void)arg;
  return (void *)(long)(old_trylock(&held) == EBUSY &&
                        pthread_mutex_timedlock(&held, &at) == ETIMEDOUT);
}

int main(void) {
  pthread_t id;
  void *good;
  use_old_conds();
  pthread_create(&id, NULL, try_old, NULL);
  pthread_join(id, &good);
  if (!was_initialized || !good || held.__data.__count != 2 ||
      pthread_mutex_unlock(&held) != 0 || pthread_mutex_unlock(&held) != 0 ||
      pthread_mutex_unlock(&held) != EPERM)
    abort();
  fprintf(stderr, "early: as it should be\n");
  return 0;
}
#endif
