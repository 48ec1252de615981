// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No lock of the allocator is held in a child, whatever the threads of its parent did:
// each thread takes its arena's locks all the time, and the child takes them by freeing
// a block of each arena. Threads whose allocations fail take the locks in another order.
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// RUN: %vf_malloc %t %if full %{ 1000 %} %else %{ 100 %}

#include "check.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// Blocks of SIZE are in no cache, those of CACHED in that of the CPU.
enum { THREADS = 4, SIZE = 1200000, CACHED = 200000 };
#define TOO_LARGE ((size_t)1 << 46)
static void *blocks[THREADS];
static int ready, stop;

static void *churn(void *place) {
  *(void **)place = malloc(SIZE);
  __atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
    free(malloc(SIZE)), free(malloc(CACHED));
  return NULL;
}

static void *fail(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    CHECK(!malloc(TOO_LARGE));
    usleep(1000);
  }
  return unused;
}

int main(int argc, char **argv) {
  int forks = argc > 1 ? atoi(argv[1]) : 100;
  pthread_t ids[THREADS + 1];
  for (int i = 0; i != THREADS; ++i)
    CHECK(pthread_create(&ids[i], NULL, churn, &blocks[i]) == 0);
  CHECK(pthread_create(&ids[THREADS], NULL, fail, NULL) == 0);
  while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) != THREADS)
    usleep(1000);
  for (int i = 0; i != forks; ++i) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(60);
      for (int k = 0; k != THREADS; ++k)
        free(blocks[k]);
      CHECK(!malloc(TOO_LARGE));
      _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
  stop = 1;
  for (int i = 0; i <= THREADS; ++i)
    CHECK(pthread_join(ids[i], NULL) == 0);
  return 0;
}
