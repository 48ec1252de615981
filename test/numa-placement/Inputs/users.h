/* Part of the vfriendly project, under the Apache License v2.0 with LLVM
 * Exceptions. See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Two threads, on CPU 0 and 1, that access memory until SIGTERM. */

#ifndef VF_TEST_USERS_H
#define VF_TEST_USERS_H

#include "stay_on.h"
#include <pthread.h>
#include <signal.h>

enum { USERS = 2 };
static int stop;

/* Once over the memory that the user of this CPU accesses. */
static void access_once(int cpu);

static void *access_until_stop(void *number) {
  int cpu = (int)(size_t)number;
  stay_on(cpu);
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
    access_once(cpu);
  return NULL;
}

/* Blocks SIGTERM, so it comes to await_end and not to a user. */
static void start(pthread_t *users) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &end, NULL);
  for (size_t i = 0; i < USERS; ++i)
    if (pthread_create(&users[i], NULL, access_until_stop, (void *)i))
      abort();
}

static void await_end(void) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  int number;
  sigwait(&end, &number);
}

static void join(pthread_t *users) {
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < USERS; ++i)
    pthread_join(users[i], NULL);
}

#endif
