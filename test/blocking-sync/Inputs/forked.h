// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of forks share: some threads that wait, a moment to fork in, and a child
// that must end well.

#ifndef FORKED_H
#define FORKED_H

#include "check.h"
#include <pthread.h>
#include <sys/wait.h>

#define WAITERS 3

static inline void start(pthread_t *ids, void *(*body)(void *)) {
  for (int i = 0; i < WAITERS; ++i)
    CHECK(pthread_create(&ids[i], NULL, body, NULL) == 0);
}

static inline void join(pthread_t *ids) {
  for (int i = 0; i < WAITERS; ++i)
    CHECK(pthread_join(ids[i], NULL) == 0);
}

/* Awake, to be on time. */
static inline void pass_us(int us) {
  double until = seconds() + us / 1e6;
  while (seconds() < until)
    ;
}

static inline void check_child(pid_t child) {
  int status;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
