// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that share all arenas with the helper never wait for ever: the helper
// once took an arena's lock again, when it first needed data of its own while
// it gave back that arena's memory. Starts itself again and again, as this
// comes once in a process; a process that hangs is killed by its alarm.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: env MALLOC_CONF=narenas:1 %vf_malloc %t %if full %{ 10000 %} %else %{ %if native %{ 1000 %} %else %{ 20 %} %}
// RUN: env MALLOC_CONF=narenas:2 %vf_malloc %t %if full %{ 10000 %} %else %{ %if native %{ 100 %} %else %{ 5 %} %}

#include "check.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// As many as make the helper start; blocks from the caches of threads and from
// extents.
enum { THREADS = 2, STEPS = 10000, BLOCKS = 800, SIZE = 20000, SECONDS = 60 };

static void *churn(void *seed_of) {
  unsigned seed = *(unsigned *)seed_of;
  char *block[BLOCKS] = {NULL};
  for (int i = 0; i != STEPS; ++i) {
    seed = seed * 1103515245u + 12345u;
    unsigned at = (seed >> 8) % BLOCKS;
    free(block[at]);
    seed = seed * 1103515245u + 12345u;
    size_t size = (seed >> 8) % SIZE + 1;
    block[at] = malloc(size);
    CHECK(block[at]);
    block[at][0] = 1;
    if (i % 16 == 0) {
      block[at] = realloc(block[at], 2 * size);
      CHECK(block[at]);
    }
  }
  for (int i = 0; i != BLOCKS; ++i)
    free(block[i]);
  return NULL;
}

static int run_threads(void) {
  alarm(SECONDS);
  pthread_t thread[THREADS];
  unsigned seed[THREADS];
  for (int i = 0; i != THREADS; ++i) {
    seed[i] = (unsigned)i * 7919 + 1;
    CHECK(pthread_create(&thread[i], NULL, churn, &seed[i]) == 0);
  }
  for (int i = 0; i != THREADS; ++i)
    pthread_join(thread[i], NULL);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 1)
    return run_threads();
  for (int runs = atoi(argv[1]); runs != 0; --runs) {
    pid_t child = fork();
    CHECK(child != -1);
    if (child == 0) {
      execl(argv[0], argv[0], (char *)NULL);
      _exit(127);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
      printf("a process ended by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  return 0;
}
