// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Children of a process whose threads allocate: each can allocate, free what the parent
// allocated, have threads, and give memory back.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -DLARGE_MB=%if full %{64%} %else %{16%} -I %S/../../Inputs -I %vf_include %s -o %t -L%vf_lib -lvfmalloc
// RUN: env VF_MALLOC_HOLD_PRICE=1000000000 VF_MALLOC_TUNE_PERCENT=0 %vf_malloc %t %if full %{ 200 %} %else %{ 40 %}

#include "check.h"
#include "vfriendly/malloc.h"
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 200 };
static int stop;

static void *churn(void *seed) {
  unsigned state = (unsigned)(unsigned long)seed;
  char *blocks[BLOCKS] = {0};
  for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED) || i % 1000; ++i) {
    state = state * 1103515245u + 12345u;
    char **b = &blocks[(state >> 8) % BLOCKS];
    size_t size = 1 + (state >> 10) % 100000;
    CHECK(!*b || **b == 7);
    free(*b);
    *b = malloc(size);
    CHECK(*b);
    memset(*b, 7, size);
  }
  for (int i = 0; i != BLOCKS; ++i)
    free(blocks[i]);
  return NULL;
}

static void child(char *of_parent) {
  CHECK(of_parent[12345] == 3);
  free(of_parent);
  stop = 1;
  pthread_t id;
  CHECK(pthread_create(&id, NULL, churn, (void *)99) == 0);
  CHECK(pthread_join(id, NULL) == 0);
  /* Enough for a helper of its own. */
  char *big[64];
  for (int i = 0; i != 64; ++i) {
    big[i] = malloc(100000);
    memset(big[i], 1, 100000);
  }
  struct vf_malloc_stats before, after;
  vf_malloc_stats(&before, sizeof before);
  for (int i = 0; i != 64; ++i)
    free(big[i]);
  alarm(60);
  do { /* With one thread, memory goes back at one of the next calls of free. */
    sleep_ms(1);
    char *volatile next = malloc(100000);
    memset(next, 1, 100000);
    free(next);
    vf_malloc_stats(&after, sizeof after);
  } while (after.returns == before.returns);
  if (fork() == 0)
    _exit(malloc(1000000) ? 0 : 1);
  int status;
  CHECK(wait(&status) > 0 && status == 0);
  exit(0);
}

enum { LARGE = LARGE_MB << 20 };
static int given; /* times that the thread has given its block back */

static void *frees_and_gives(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    static void *volatile seen; /* Else the compiler drops it. */
    seen = malloc(LARGE);
    memset(seen, 1, LARGE);
    free(seen);
    malloc_trim(0);
    __atomic_fetch_add(&given, 1, __ATOMIC_RELAXED);
  }
  return unused;
}

/* A child of a process that is giving memory back has that as well: it maps no more. */
static void nothing_is_lost_on_the_way(void) {
  struct vf_malloc_stats first;
  vf_malloc_stats(&first, sizeof first);
  pthread_t id;
  CHECK(pthread_create(&id, NULL, frees_and_gives, NULL) == 0);
  while (__atomic_load_n(&given, __ATOMIC_RELAXED) == 0)
    sleep_ms(1);
  for (int i = 0; i != 100; ++i) {
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
      struct vf_malloc_stats before, after;
      vf_malloc_stats(&before, sizeof before);
      if (before.used >= first.used + LARGE / 2) /* The thread had its block. */
        _exit(0);
      void *volatile half = malloc(LARGE / 2); /* The rest is for the heap itself. */
      CHECK(half);
      vf_malloc_stats(&after, sizeof after);
      CHECK(after.mapped < before.mapped + LARGE / 2);
      _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  CHECK(pthread_join(id, NULL) == 0);
}

int main(int argc, char **argv) {
  CHECK(argc == 2);
  nothing_is_lost_on_the_way();
  stop = 0;
  pthread_t id[THREADS];
  for (long i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&id[i], NULL, churn, (void *)(i + 1)) == 0);
  for (int i = atoi(argv[1]); i > 0; --i) {
    char *shared = malloc(20000);
    memset(shared, 3, 20000);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
      child(shared);
    free(shared);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_join(id[i], NULL) == 0);
  return 0;
}
