// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program may destroy arenas of its own (jemalloc's arena.N.destroy) while memory of all
// arenas is given back, and fork meanwhile. (The memory of an arena that is destroyed is used
// again: giving back its memory then waits for whatever lies where its locks were.)
//
// REQUIRES: heap-churn-malloc, native
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t -ljemalloc
// RUN: %vf_malloc %t

#include "check.h"
#include <jemalloc/jemalloc.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEPS = 1500, BLOCKS = 30, SIZE = 100000, FORKS_EVERY = 100 };

static atomic_int is_over;

static void *give_back(void *unused) {
  while (!is_over)
    malloc_trim(0);
  return unused;
}

static unsigned make_arena(void) {
  unsigned arena;
  size_t size = sizeof arena;
  CHECK(mallctl("arenas.create", &arena, &size, NULL, 0) == 0);
  return arena;
}

static void command(unsigned arena, const char *what) {
  char name[64];
  snprintf(name, sizeof name, "arena.%u.%s", arena, what);
  CHECK(mallctl(name, NULL, NULL, NULL, 0) == 0);
}

static void use(unsigned arena) {
  int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
  for (int i = 0; i != BLOCKS; ++i) {
    char *block = mallocx(SIZE, flags);
    CHECK(block);
    memset(block, 1, SIZE);
    if (i % 2)
      dallocx(block, flags);
  }
}

static void fork_once(void) {
  pid_t child = fork();
  CHECK(child != -1);
  if (child == 0) {
    unsigned arena = make_arena();
    use(arena);
    malloc_trim(0);
    command(arena, "destroy");
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
  alarm(120);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, give_back, NULL) == 0);
  for (int i = 0; i != STEPS; ++i) {
    unsigned arena = make_arena();
    use(arena);
    if (i % 3 == 0)
      command(arena, "reset");
    command(arena, "destroy");
    if (i % FORKS_EVERY == 0)
      fork_once();
  }
  is_over = 1;
  pthread_join(thread, NULL);
  return 0;
}
