// Part of the vfriendly project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread's first call may give back the memory of the arena that the thread's own data are
// made from. (It once waited for a lock that it held; so did the helper: shared-arenas.c.)
//
// REQUIRES: heap-churn-malloc
// RUN: clang -std=gnu11 -D_GNU_SOURCE -O1 -fno-builtin -Wall -Wextra -pthread -I %S/../../Inputs -I %vf_include %s -o %t
// Slabs of one page: jemalloc merges free extents below 16 KiB only when it gives them back.
// RUN: env MALLOC_CONF=narenas:1,slab_sizes:1-4096:1 %vf_malloc %t

#include "check.h"
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 20, BLOCKS = 2000, SIZE = 3000, SECONDS = 60 };

static void *give_back(void *unused) {
  malloc_trim(0);
  return unused;
}

int main(void) {
  static void *blocks[BLOCKS];
  alarm(SECONDS);
  for (int round = 0; round != ROUNDS; ++round) {
    for (int i = 0; i != BLOCKS; ++i)
      CHECK(blocks[i] = malloc(SIZE));
    for (int i = 0; i != BLOCKS; ++i)
      free(blocks[i]);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, give_back, NULL) == 0);
    pthread_join(thread, NULL);
  }
  return 0;
}
