// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes that use something they share at random, as workers.h does with threads.

#ifndef PROCESSES_H
#define PROCESSES_H

#include "workers.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Memory that forked children share. */
static inline void *share(size_t size) {
  void *shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shared != MAP_FAILED);
  return shared;
}

static inline void run_processes(void (*body)(struct worker *w), int processes,
                                 long rounds) {
  for (int i = 0; i < processes; ++i) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0)
      continue;
    struct worker w = {i, processes, rounds, (uint64_t)i * 77 + 1};
    alarm(120); /* Which is not inherited. */
    body(&w);
    _exit(0);
  }
  int status;
  for (int i = 0; i < processes; ++i)
    CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
