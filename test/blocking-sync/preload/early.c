// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libvfpthread locks before any constructor ran, its own among them: those of a library
// that is to be initialized first. And whatever symbol version a program was linked to.
//
// REQUIRES: host-x86_64
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -shared -fPIC -DLIBRARY %s -o %t.so -Wl,-z,initfirst
// RUN: clang -std=gnu11 -O2 -Wall -Wextra %s -o %t %t.so -pthread
// RUN: %t
// RUN: env VF_STATS=1 LD_DEBUG=files,bindings %vf_preload %t 2>&1 | FileCheck %s
//
// CHECK: calling init: {{.*}}early.c.tmp.so
// CHECK: early.c.tmp.so [0] to {{.*}}libvfpthread.so [0]: normal symbol `pthread_mutex_lock' [GLIBC_2.2.5]
// CHECK: early.c.tmp.so [0] to {{.*}}libvfpthread.so [0]: normal symbol `pthread_mutex_timedlock' [GLIBC_2.34]
// CHECK: calling init: {{.*}}libvfpthread.so
// CHECK: early.c.tmp [0] to {{.*}}libvfpthread.so [0]: normal symbol `pthread_mutex_trylock' [GLIBC_2.2.5]
// CHECK: early: as it should be
// CHECK: "vfpthread": {"spins": {{[1-9]}}
//
// Turned off by a variable that could not be read that early:
// RUN: env VF_STATS=1 VF_PTHREAD=off %vf_preload %t 2>&1 | FileCheck --check-prefix=OFF %s
// OFF: early: as it should be
// OFF: "vfpthread": {"spins": 0, "spun": 0, "sleeps": 0, "wakes": 0

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
  was_initialized = pthread_mutex_lock(&held) == 0 &&
                    pthread_mutex_lock(&held) == 0 &&
                    pthread_mutex_timedlock(&inherited, &at) == 0 &&
                    pthread_mutex_unlock(&inherited) == 0;
}
#else
int old_trylock(pthread_mutex_t *mutex);
__asm__(".symver old_trylock, pthread_mutex_trylock@GLIBC_2.2.5");

static void *try_old(void *arg) {
  struct timespec at = {1, 0};
  (void)arg;
  return (void *)(long)(old_trylock(&held) == EBUSY &&
                        pthread_mutex_timedlock(&held, &at) == ETIMEDOUT);
}

int main(void) {
  pthread_t id;
  void *good;
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
