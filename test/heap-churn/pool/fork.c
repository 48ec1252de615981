// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fork by the owner while others free its blocks: the child goes on with the pool as it
// was, and may destroy it.
//
// RUN: clang -std=gnu11 -O2 -Wall -Wextra -I %S/../../Inputs -I %vf_include %s -o %t %vf_link
// RUN: %t

#include "check.h"
#include "vfriendly/pool.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, SLOTS = 64, FORKS = 100 };

static vf_pool pool;
static char *slots[SLOTS];
static int stop;

static void *free_what_comes(void *seed) {
  for (unsigned i = (unsigned)(uintptr_t)seed;
       !__atomic_load_n(&stop, __ATOMIC_RELAXED); i += 7)
    vf_pool_free(&pool, __atomic_exchange_n(&slots[i % SLOTS], NULL,
                                            __ATOMIC_ACQUIRE));
  return NULL;
}

static void refill(int round) {
  for (int i = 0; i != SLOTS; ++i) {
    size_t size = (size_t)((i * 97 + round * 31) % 3000);
    char *block = vf_pool_alloc(&pool, size + 1);
    CHECK(block);
    memset(block, i, size + 1);
    vf_pool_free(&pool, __atomic_exchange_n(&slots[i], block, __ATOMIC_ACQ_REL));
  }
}

/* Alone: blocks that the others were about to free are lost, no more. */
static void child(char *kept) {
  for (int i = 0; i != 100; ++i) {
    CHECK(strcmp(kept, "the parent's") == 0);
    refill(i);
  }
  vf_pool_free(&pool, kept);
  vf_pool_reset(&pool);
  CHECK(vf_pool_alloc(&pool, 100));
  vf_pool_destroy(&pool);
  _exit(0);
}

int main(void) {
  char *kept = vf_pool_alloc(&pool, 20);
  CHECK(kept);
  strcpy(kept, "the parent's");
  pthread_t id[THREADS];
  for (uintptr_t i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&id[i], NULL, free_what_comes, (void *)i) == 0);
  for (int i = 0; i != FORKS; ++i) {
    refill(i);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
      child(kept);
    refill(i);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_join(id[i], NULL) == 0);
  CHECK(strcmp(kept, "the parent's") == 0);
  vf_pool_destroy(&pool);
  return 0;
}
